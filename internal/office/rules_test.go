package office

import (
	"slices"
	"testing"

	"countersign/internal/message"
)

func TestFixedSettingsWinAndDefaultsBegin(t *testing.T) {
	r := NewRules(map[string]any{"auth_url": " HTTPS://Sign.Example.com/ ", "tunnel": "none", "redirect": "localhost", "index": 1.0, "due_days": "7", "scopes": []any{"openid", "profile"}, "copy_to": "ana@example.com"},
		map[string]any{"theme": "dark", "auth_url": "https://other.example.com", "keep_events_days": 30.0})
	if len(r.Wrong) > 0 {
		t.Fatalf("wrong: %q", r.Wrong)
	}
	s := r.Into(DefaultSettings())
	if s.AuthURL != "https://sign.example.com" || s.Tunnel != TunnelNone || !s.Index || s.DueDays != 7 || !slices.Equal(s.Scopes, []string{"openid", "profile"}) || s.Theme != "dark" || s.KeepEvents != 30 {
		t.Errorf("an office begins with %+v", s)
	}
	chosen := DefaultSettings()
	chosen.AuthURL, chosen.BaseURL, chosen.ClientID, chosen.Theme = "https://a.example.com", "https://a.example.com", "c", "light"
	if s := r.Into(chosen); s.Theme != "light" || s.KeepEvents != KeepEventsDays || s.AuthURL != "https://sign.example.com" {
		t.Errorf("an office that has chosen has %+v", s)
	}
	if s := (Rules{}).Into(chosen); s.AuthURL != chosen.AuthURL {
		t.Errorf("no rules: %+v", s)
	}
}

func TestWhatIsFixedIsRefusedWhenItDiffers(t *testing.T) {
	r := NewRules(map[string]any{"save_to": t.TempDir(), "index": true}, nil)
	s := r.Into(DefaultSettings())
	if bad := r.Broken(s); len(bad) > 0 {
		t.Errorf("%v", bad)
	}
	s.Index, s.Theme = false, "dark"
	if bad := r.Broken(s); len(bad) != 1 || bad[0].Field != "index" || bad[0].Code != CodeFixed || bad[0].Text != message.FixedSetting("index") {
		t.Errorf("%v", bad)
	}
	if !r.Fixed("index") || r.Fixed("theme") {
		t.Error("only what is fixed is fixed")
	}
}

func TestARuleThatCannotBeUsedIsNamedAndTheRestCounts(t *testing.T) {
	r := NewRules(map[string]any{"tomato": 1.0, "tunnel": "pigeon", "auth_url": "http://sign.example.com", "save_to": 5.0, "save_cac": "perhaps",
		"due_days": 1e12, "scopes": []any{1.0}, "theme": "dark", "keep_events_days": -1.0, "redirect": nil, "client_id": map[string]any{}, "copy_to": 1.0}, nil)
	want := []string{"auth_url", "client_id", "copy_to", "due_days", "keep_events_days", "redirect", "save_cac", "save_to", "scopes", "tomato", "tunnel"}
	if !slices.Equal(r.Wrong, want) {
		t.Errorf("wrong are %q", r.Wrong)
	}
	if s := r.Into(DefaultSettings()); s.Theme != "dark" || s.Tunnel != TunnelNgrok {
		t.Errorf("%+v", s)
	}
}

func TestAListMayBeWrittenInSeveralWays(t *testing.T) {
	for _, list := range []any{"openid", []string{"openid"}, []any{"openid"}} {
		r := NewRules(map[string]any{"scopes": list}, nil)
		if s := r.Into(DefaultSettings()); r.Wrong != nil || !slices.Equal(s.Scopes, []string{"openid"}) {
			t.Errorf("%T is %q, wrong %q", list, s.Scopes, r.Wrong)
		}
	}
}

func TestAnAdministratorWritesNeverAsPeopleDo(t *testing.T) {
	r := NewRules(map[string]any{"due_days": 0.0}, nil)
	if s := r.Into(DefaultSettings()); r.Wrong != nil || s.DueDays != NoDueDays {
		t.Errorf("0 days are %d, wrong %q", s.DueDays, r.Wrong)
	}
}
