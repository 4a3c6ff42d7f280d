package proxy

import (
	"net/url"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// askSystem asks WinHTTP for the settings of the person or the administrator: a script offered by the network, a script with
// a configured address, a fixed proxy with its exceptions, in this order, as Windows itself does.
var askSystem = alone(askWinHTTP)

func askWinHTTP(to *url.URL) (Answer, error) {
	set, err := settings()
	if err != nil {
		return Answer{}, err
	}
	for _, try := range []struct {
		wanted bool
		script string
		source Source
	}{{set.detect, "", Detected}, {set.script != "", set.script, Script}} {
		if !try.wanted {
			continue
		}
		if ways, err := runScript(try.script, to); err == nil {
			return Answer{ways, try.source}, nil
		}
	}
	if ways := waysFromList(set.proxy); len(ways) > 0 {
		if excluded(splitExceptions(set.exceptions), to) {
			ways = straight
		}
		return Answer{ways, System}, nil
	}
	if set.script != "" {
		return Answer{straight, Unread}, nil
	}
	return Answer{straight, Nothing}, nil
}

// The documented interface: winhttp.h. Its strings are freed with GlobalFree.
var (
	winhttp             = windows.NewLazySystemDLL("winhttp.dll")
	procOpen            = winhttp.NewProc("WinHttpOpen")
	procUserConfig      = winhttp.NewProc("WinHttpGetIEProxyConfigForCurrentUser")
	procDefaultConfig   = winhttp.NewProc("WinHttpGetDefaultProxyConfiguration")
	procGetProxyForURL  = winhttp.NewProc("WinHttpGetProxyForUrl")
	procGlobalFree      = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalFree")
	accessNoProxy       = uintptr(1)
	accessNamedProxy    = uint32(3)
	autoDetect          = uint32(1)     // WINHTTP_AUTOPROXY_AUTO_DETECT
	autoConfigURL       = uint32(2)     // WINHTTP_AUTOPROXY_CONFIG_URL
	detectByDHCPAndName = uint32(1 | 2) // WINHTTP_AUTO_DETECT_TYPE_DHCP, _DNS_A
)

// userConfig is WINHTTP_CURRENT_USER_IE_PROXY_CONFIG.
type userConfig struct {
	autoDetect    int32
	autoConfigURL *uint16
	proxy         *uint16
	proxyBypass   *uint16
}

// autoProxyOptions is WINHTTP_AUTOPROXY_OPTIONS.
type autoProxyOptions struct {
	flags           uint32
	autoDetectFlags uint32
	autoConfigURL   *uint16
	reserved        uintptr
	reserved2       uint32
	autoLogon       int32
}

// proxyInfo is WINHTTP_PROXY_INFO.
type proxyInfo struct {
	accessType  uint32
	proxy       *uint16
	proxyBypass *uint16
}

// configured is the configuration of the signed-in user.
type configured struct {
	detect                    bool
	script, proxy, exceptions string
}

// settings reads the user's configuration. A system service has no user's configuration: then it reads the administrator's
// for the computer (netsh winhttp set proxy).
func settings() (set configured, err error) {
	if err := procUserConfig.Find(); err != nil {
		return set, err
	}
	var user userConfig
	if ok, _, _ := procUserConfig.Call(uintptr(unsafe.Pointer(&user))); ok != 0 {
		set = configured{user.autoDetect != 0, take(user.autoConfigURL), take(user.proxy), take(user.proxyBypass)}
	}
	if set != (configured{}) {
		return set, nil
	}
	var computer proxyInfo
	if procDefaultConfig.Find() == nil {
		if ok, _, _ := procDefaultConfig.Call(uintptr(unsafe.Pointer(&computer))); ok != 0 {
			proxy, exceptions := take(computer.proxy), take(computer.proxyBypass)
			if computer.accessType == accessNamedProxy {
				set.proxy, set.exceptions = proxy, exceptions
			}
		}
	}
	return set, nil
}

// session is the WinHTTP session, which caches the script for a while.
var session = sync.OnceValues(func() (uintptr, error) {
	agent, err := windows.UTF16PtrFromString("Countersign")
	if err != nil {
		return 0, err
	}
	handle, _, err := procOpen.Call(uintptr(unsafe.Pointer(agent)), accessNoProxy, 0, 0, 0)
	if handle == 0 {
		return 0, err
	}
	return handle, nil
})

// runScript makes WinHTTP find (if address is empty), fetch and run a script. The user's credentials are never sent to a
// server that demands them for the script (autoLogon stays 0): with WPAD, the network has named that server.
func runScript(address string, to *url.URL) ([]*url.URL, error) {
	handle, err := session()
	if err != nil {
		return nil, err
	}
	target, err := windows.UTF16PtrFromString(to.String())
	if err != nil {
		return nil, err
	}
	options := autoProxyOptions{flags: autoDetect, autoDetectFlags: detectByDHCPAndName}
	if address != "" {
		options = autoProxyOptions{flags: autoConfigURL}
		if options.autoConfigURL, err = windows.UTF16PtrFromString(address); err != nil {
			return nil, err
		}
	}
	var info proxyInfo
	ok, _, failed := procGetProxyForURL.Call(handle, uintptr(unsafe.Pointer(target)),
		uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&info)))
	if ok == 0 {
		return nil, failed
	}
	list, exceptions := take(info.proxy), take(info.proxyBypass)
	if info.accessType != accessNamedProxy || excluded(splitExceptions(exceptions), to) {
		return straight, nil
	}
	if ways := waysFromList(list); len(ways) > 0 {
		return ways, nil
	}
	return straight, nil
}

// take copies a WinHTTP string and frees it.
func take(text *uint16) string {
	if text == nil {
		return ""
	}
	s := windows.UTF16PtrToString(text)
	procGlobalFree.Call(uintptr(unsafe.Pointer(text)))
	return s
}
