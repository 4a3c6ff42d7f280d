package proxy

import (
	"net/url"
	"testing"
)

func names(ways []*url.URL) (list string) {
	for _, w := range ways {
		if list != "" {
			list += " "
		}
		if w == nil {
			list += "straight"
		} else {
			list += w.String()
		}
	}
	return list
}

func TestTheProxiesThatWindowsNamesAreRead(t *testing.T) {
	for list, want := range map[string]string{
		"":                                    "",
		"proxy:8080":                          "http://proxy:8080",
		"proxy":                               "http://proxy",
		"http://proxy:8080/":                  "http://proxy:8080/",
		"a:1;b:2":                             "http://a:1 http://b:2",
		"a:1 b:2; DIRECT":                     "http://a:1 http://b:2 straight",
		"http=a:1;https=b:2;ftp=c:3":          "http://b:2",
		"HTTPS=b:2":                           "http://b:2",
		"http=a:1":                            "",
		"socks=s:1080":                        "socks5://s:1080",
		"http=a:1;socks=s:1080":               "socks5://s:1080",
		"https=https://secure:443;socks=s:1":  "https://secure:443",
		"gopher://p:70;[2001:db8::1]:8080;:%": "http://[2001:db8::1]:8080",
	} {
		if got := names(waysFromList(list)); got != want {
			t.Errorf("%q is read as %q, want %q", list, got, want)
		}
	}
}

func TestTheProxiesThatDesktopsNameAreRead(t *testing.T) {
	got := names(waysFromURLs([]string{"http://a:1", "socks://s:1080", "ftp://x", "direct://"}))
	if want := "http://a:1 socks5://s:1080 straight"; got != want {
		t.Errorf("read as %q, want %q", got, want)
	}
}

func TestExceptionsOfTheSystemAreKept(t *testing.T) {
	for _, c := range []struct {
		exceptions, host string
		want             bool
	}{
		{"", "sign.test", false},
		{"sign.test", "sign.test", true},
		{"SIGN.test", "sign.TEST", true},
		{"*.test", "sign.test", true},
		{"*.test", "test", false},
		{"*test", "sign.test", true},
		{".test", "sign.test", true},
		{"10.*", "10.1.2.3", true},
		{"10.*", "110.1.2.3", false},
		{"192.168.*;<local>", "intranet", true},
		{"<local>", "sign.test", false},
		{"<local>", "2001:db8::1", false},
		{"https://sign.test", "sign.test", true},
		{"http://sign.test", "sign.test", false},
		{"sign.test:443", "sign.test", true},
		{"sign.test:8443", "sign.test", false},
		{"169.254/16", "169.254.9.9", true},
		{"10.0.0.0/8 other", "10.9.9.9", true},
		{"10.0.0.0/8", "11.0.0.1", false},
		{"[2001:db8::1]", "2001:db8::1", true},
		{"[", "sign.test", false},
		{"*", "sign.test", true},
	} {
		host := c.host
		if _, err := url.Parse("https://" + host + "/"); err != nil {
			host = "[" + host + "]"
		}
		if got := excluded(splitExceptions(c.exceptions), &url.URL{Scheme: "https", Host: host}); got != c.want {
			t.Errorf("%q excludes %q: %v", c.exceptions, c.host, got)
		}
	}
}

func TestTheSettingsOfMacOSAreRead(t *testing.T) {
	const fixed = `<dictionary> {
  ExceptionsList : <array> {
    0 : *.local
    1 : 169.254/16
    2 : intern.test
  }
  ExcludeSimpleHostnames : 1
  FTPPassive : 1
  HTTPEnable : 1
  HTTPPort : 1111
  HTTPProxy : plain.test
  HTTPSEnable : 1
  HTTPSPort : 8080
  HTTPSProxy : proxy.test
  __SCOPED__ : <dictionary> {
    en0 : <dictionary> {
      HTTPSProxy : scoped.test
    }
  }
}
`
	for _, c := range []struct {
		name, out, host, want string
		source                Source
	}{
		{"fixed", fixed, "sign.test", "http://proxy.test:8080", System},
		{"an exception", fixed, "intern.test", "straight", System},
		{"a name without a dot", fixed, "intranet", "straight", System},
		{"a network", fixed, "169.254.1.1", "straight", System},
		{"nothing", "<dictionary> {\n  FTPPassive : 1\n}\n", "sign.test", "straight", Nothing},
		{"switched off", "<dictionary> {\n  HTTPSEnable : 0\n  HTTPSProxy : proxy.test\n  HTTPSPort : 1\n}\n", "sign.test", "straight", Nothing},
		{"SOCKS", "<dictionary> {\n  SOCKSEnable : 1\n  SOCKSPort : 1080\n  SOCKSProxy : s.test\n}\n", "sign.test", "socks5://s.test:1080", System},
		{"a script", "<dictionary> {\n  ProxyAutoConfigEnable : 1\n  ProxyAutoConfigURLString : http://pac.test/\n}\n", "sign.test", "straight", Unread},
		{"a script, and a fixed one beside it", "<dictionary> {\n  HTTPSEnable : 1\n  HTTPSPort : 1\n  HTTPSProxy : p.test\n  ProxyAutoDiscoveryEnable : 1\n}\n", "sign.test", "http://p.test:1", System},
		{"garbage", "}}} : : {\n", "sign.test", "straight", Nothing},
	} {
		got := fromScutil(c.out, &url.URL{Scheme: "https", Host: c.host})
		if names(got.Ways) != c.want || got.Source != c.source {
			t.Errorf("%s: %q by %q, want %q by %q", c.name, names(got.Ways), got.Source, c.want, c.source)
		}
	}
}
