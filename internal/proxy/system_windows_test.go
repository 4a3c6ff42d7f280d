package proxy

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

func wine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// set writes what a person sets in the system's dialog. It runs only under Wine, so that nobody's own settings are touched.
func set(t *testing.T, values map[string]string) {
	t.Helper()
	if !wine() {
		t.Skip("this would change the settings of whoever runs it; it is for Wine")
	}
	flags := uint32(1) // followed by a proxy (2) and a script (4)
	if values["ProxyServer"] != "" {
		flags |= 2
	}
	if values["AutoConfigURL"] != "" {
		flags |= 4
	}
	blob := binary.LittleEndian.AppendUint32(nil, 0x46)
	blob = binary.LittleEndian.AppendUint32(blob, 1)
	blob = binary.LittleEndian.AppendUint32(blob, flags)
	for _, name := range []string{"ProxyServer", "ProxyOverride", "AutoConfigURL"} {
		blob = binary.LittleEndian.AppendUint32(blob, uint32(len(values[name])))
		blob = append(blob, values[name]...)
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, `Software\Microsoft\Windows\CurrentVersion\Internet Settings\Connections`, registry.ALL_ACCESS)
	noErr(t, err)
	defer key.Close()
	noErr(t, key.SetBinaryValue("DefaultConnectionSettings", append(blob, make([]byte, 32)...)))
}

func TestWindowsIsAskedForTheProxy(t *testing.T) {
	noEnvironment(t)
	script := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ns-proxy-autoconfig")
		io.WriteString(w, `function FindProxyForURL(url, host) {
			if (host == "sign.test") return "PROXY script.test:3128; DIRECT";
			return "DIRECT";
		}`)
	}))
	defer script.Close()
	for _, c := range []struct {
		name   string
		values map[string]string
		host   string
		want   string
		source Source
	}{
		{"nothing", nil, "sign.test", "straight", Nothing},
		{"a fixed one", map[string]string{"ProxyServer": "proxy.test:8080"}, "sign.test", "http://proxy.test:8080", System},
		{"one for each kind", map[string]string{"ProxyServer": "http=a.test:1;https=b.test:2"}, "sign.test", "http://b.test:2", System},
		{"an exception", map[string]string{"ProxyServer": "proxy.test:8080", "ProxyOverride": "*.test;<local>"}, "sign.test", "straight", System},
		{"a name without a dot", map[string]string{"ProxyServer": "proxy.test:8080", "ProxyOverride": "<local>"}, "intranet", "straight", System},
		{"a script", map[string]string{"AutoConfigURL": script.URL + "/proxy.pac"}, "sign.test", "http://script.test:3128", Script},
		{"a script for another", map[string]string{"AutoConfigURL": script.URL + "/proxy.pac"}, "other.test", "straight", Script},
		{"a script that is gone", map[string]string{"AutoConfigURL": "http://127.0.0.1:1/proxy.pac"}, "sign.test", "straight", Unread},
		{"a script that is gone, and a fixed one", map[string]string{"AutoConfigURL": "http://127.0.0.1:1/proxy.pac", "ProxyServer": "proxy.test:8080"}, "sign.test", "http://proxy.test:8080", System},
	} {
		t.Run(c.name, func(t *testing.T) {
			set(t, c.values)
			got, err := askSystem(context.Background(), &url.URL{Scheme: "https", Host: c.host, Path: "/"})
			if err != nil || names(got.Ways) != c.want || got.Source != c.source {
				t.Errorf("%q by %q (%v), want %q by %q", names(got.Ways), got.Source, err, c.want, c.source)
			}
		})
	}
}

func TestWhereAScriptLiesNobodyIsSignedIn(t *testing.T) {
	var told atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			told.Add(1)
		}
		w.Header().Set("WWW-Authenticate", "NTLM")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	set(t, map[string]string{"AutoConfigURL": server.URL + "/proxy.pac"})
	got, err := askSystem(context.Background(), &url.URL{Scheme: "https", Host: "sign.test", Path: "/"})
	if err != nil || got.Source != Unread || told.Load() != 0 {
		t.Errorf("%q by %q (%v); %d requests had a sign-in", names(got.Ways), got.Source, err, told.Load())
	}
}
