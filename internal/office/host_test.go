package office

import "testing"

func TestAHostInAnotherScriptIsToldFromOneThatLooksTheSame(t *testing.T) {
	for address, want := range map[string]string{
		"https://sign.example.com/api":      "sign.example.com",
		"https://sign.example.com:8443":     "sign.example.com:8443",
		"https://s\u0456gn.example.com":     "xn--sgn-jhd.example.com (s\u0456gn.example.com)", // with a Ukrainian i
		"https://xn--sgn-jhd.example.com:1": "xn--sgn-jhd.example.com:1 (s\u0456gn.example.com)",
		"https://[::1]:8443":                "[::1]:8443",
	} {
		expect(t, HostName(address), want, address+": %q, want %q", want)
	}
}

func TestWhereReportsAndSignInsArriveIsNamed(t *testing.T) {
	own := Settings{TunnelSettings: TunnelSettings{Tunnel: TunnelExternal, PublicURL: "https://s\u0456gn.example.com/hook", Listen: "0.0.0.0:99"},
		RedirectURI: "https://back.example/cb"}
	if events, returns := own.Reached(); events != "xn--sgn-jhd.example.com (s\u0456gn.example.com) (0.0.0.0:99)" || returns != "back.example" {
		t.Errorf("%q, %q", events, returns)
	}
	if events, returns := (Settings{TunnelSettings: TunnelSettings{Tunnel: TunnelNgrok,
		NgrokDomain: "https://Office.ngrok.app/"}}).Reached(); events != "office.ngrok.app" || returns != "" {
		t.Errorf("%q, %q", events, returns)
	}
}

func TestAServiceElsewhereThanTheSignInIsNamed(t *testing.T) {
	at := func(signIn, service string) Settings {
		return Settings{ServiceSettings: ServiceSettings{AuthURL: signIn, BaseURL: service}}
	}
	for _, c := range []struct {
		settings        Settings
		signIn, service string
	}{
		{at("https://Sign.example.com/", "https://sign.example.com/api/v1"), "sign.example.com", ""},
		{at("https://sign.example.com", "https://evil.example/api"), "sign.example.com", "evil.example"},
		{at("https://sign.example.com", "https://sign.example.com:444"), "sign.example.com", "sign.example.com:444"},
		{at("https://sign.example.com", "https://s\u0456gn.example.com"), "sign.example.com", "xn--sgn-jhd.example.com (s\u0456gn.example.com)"},
	} {
		if signIn, service := c.settings.Hosts(); signIn != c.signIn || service != c.service {
			t.Errorf("%+v: %q and %q", c, signIn, service)
		}
	}
}
