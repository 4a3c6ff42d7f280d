package office

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
)

// same reports unexpected elements by their index in both lists.
func same(t *testing.T, what string, got, want []any) {
	t.Helper()
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s, %d: %+v, want %+v", what, i, got[i], want[i])
		}
	}
}

func TestTheSignInReturnsWhereTheSettingsSay(t *testing.T) {
	for want, s := range map[string]Settings{
		"https://office.test/back":               {RedirectURI: " https://office.test/back "},
		"https://localhost:46137" + CallbackPath: {Redirect: RedirectLocalhost},
		"http://127.0.0.1" + CallbackPath:        {Redirect: RedirectLoopback},
		"https://office.test/sign" + CallbackPath: {Redirect: RedirectTunnel, TunnelSettings: TunnelSettings{Tunnel: TunnelExternal,
			PublicURL: "https://office.test/sign/"}},
		"https://a.ngrok.test" + CallbackPath: {Redirect: RedirectTunnel, TunnelSettings: TunnelSettings{Tunnel: TunnelNgrok,
			NgrokDomain: "a.ngrok.test"}},
		"": {Redirect: RedirectTunnel, TunnelSettings: TunnelSettings{Tunnel: TunnelNgrok}},
	} {
		expect(t, s.ReturnAddress(), want, "%q, want %q", want)
	}
	same(t, "addresses", []any{HTTPSHost("https://a.test/x"), HTTPSHost("a.test"), PathOf("https://a.test/x"), PathOf("https://["),
		ReturnPath(Settings{}),
		ReturnPath(Settings{RedirectURI: "https://a.test"}), ReturnPath(Settings{RedirectURI: "https://a.test/x"}),
		BasePath(Settings{TunnelSettings: TunnelSettings{PublicURL: "https://a.test/x"}})},
		[]any{"https://a.test", "https://a.test", "/x", "", "", "/", "/x", ""})
}

func TestAWishIsSettledByWhatBecameOfThePackage(t *testing.T) {
	for state, want := range map[PackageState]Withdrawal{
		PackageExecuted:  {State: WithdrawLate, Problem: message.SignedBeforeWithdrawn()},
		PackageExpired:   {State: WithdrawLate, Problem: message.ExpiredBeforeWithdrawn()},
		PackageRescinded: {State: WithdrawDone},
		PackageOpen:      {State: WithdrawAsked, NextTry: time.Unix(1, 0)},
	} {
		p := Package{State: state, Withdrawal: &Withdrawal{State: WithdrawAsked, NextTry: time.Unix(1, 0)}}
		ended, again := p.Settle(), p.Settle()
		same(t, string(state), []any{*p.Withdrawal, ended, again}, []any{want, state != PackageOpen, false})
	}
	var none *Withdrawal
	same(t, "a wish", []any{none.Pending(), none.Undoable(), none.Wished(), (&Withdrawal{State: WithdrawWanted}).Undoable(),
		(&Withdrawal{State: WithdrawWanted, Tries: 1}).Undoable(),
		(&Withdrawal{State: WithdrawAsked}).Undoable(), (&Withdrawal{Asked: time.Unix(1, 0)}).Wished(), (&Withdrawal{}).Wished(),
		(&Withdrawal{State: WithdrawAccepted}).Pending(),
		(&Withdrawal{State: WithdrawRefused}).Pending()}, []any{false, false, false, true, false, false, true, false, true, false})
}

func TestWhatIsDueIsSaidInDays(t *testing.T) {
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	same(t, "days", []any{DueDaysFrom(0), DueDaysFrom(1), Settings{}.SoonDays(),
		Settings{NotifySettings: NotifySettings{DueDays: NoDueDays}}.SoonDays(), DuePassed(time.Time{}, now),
		DuePassed(now, now), DuePassed(now.Add(1), now), DueText("Lease", now, now.Add(time.Hour)), DueText("Lease", now, now.AddDate(0, 0, 1)),
		DueText("Lease", now, now.AddDate(0, 0, 2))},
		[]any{NoDueDays, 1, DueDays, 0, false, true, false, message.DueToday("Lease"), message.DueTomorrow("Lease"), message.DueIn("Lease", 2)})
	since := now.Add(time.Hour)
	same(t, "refused", []any{RefusedFor(&since, now), since}, []any{time.Duration(0), now})
	same(t, "refused", []any{RefusedFor(&since, now.Add(time.Minute)), since}, []any{time.Minute, now})
}

func TestWhatATemplateBringsIsTakenFromIt(t *testing.T) {
	ana := TemplateRole{ID: "r1", Role: "Tenant", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	lease := &Template{ID: "t", Name: "Lease", Description: "of a flat", Message: "Please.", Roles: []TemplateRole{ana, {ID: "r2", Role: "Owner"},
		{ID: "r3", Role: "Owner"}},
		Copies: []TemplateRole{{Role: "Bank"}, {Role: "Boss", Email: "boss@example.com"}}, Documents: []TemplateDocument{{Name: "Contract", File: "x.pdf",
			Fields: []TemplateField{{ID: "f1", Name: "Rent"}, {ID: "f2", Value: "1"}, {ID: "f3", Name: "From", Value: "1"}},
			Data:   map[string]string{"f3": " "}}, {FileName: "Annex.pdf"}}}
	var none *Template
	same(t, "a template", []any{lease.Signers()[0], len(lease.Signers()), lease.Recipients(), lease.RoleOnce("Tenant"), lease.RoleOnce("Owner"),
		lease.RoleOnce(""),
		lease.RecipientRole([]Recipient{{Email: "x@example.com"}, {Email: "BOSS@example.com"}, {Email: "y@example.com"}}), lease.EmptyFields(),
		none.EmptyFields(), none.Clone() == nil,
		none.Empty(), lease.Empty(), (&Template{}).Empty(), (&Template{Documents: []TemplateDocument{}}).Empty(), lease.Documents[0].DisplayName(),
		lease.Documents[1].DisplayName()},
		[]any{Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com", Role: "Tenant", RoleID: "r1"}, 3,
			[]Recipient{{Email: "boss@example.com"}}, true, false, false,
			[]int{0, 1, -1}, []string{"Rent", "From"}, []string(nil), true, true, false, false, true, "Contract", "Annex.pdf"})
	for search, want := range map[string]bool{"": true, "FLAT lease": true, "annex ruiz": true, "boss": true, "please contract": true,
		"lease house": false} {
		if lease.Mentions(search) != want {
			t.Errorf("%q is found: %v", search, !want)
		}
	}
	list := []Template{{ID: "a", Name: "b"}, {ID: "b", Name: "lease"}, {ID: "c", Name: "Lease"}}
	same(t, "by name", []any{NamedTemplate(list, " LEASE "), NamedTemplate(list, "b"), NamedTemplate(list, "x")}, []any{list[1:], list[1:2],
		[]Template(nil)})

	d := Draft{Name: "Lease", Files: []DraftFile{{}}, Template: lease, Signers: []Signer{{Email: "a@example.com"}}, CopyDefaults: CopyDefaults{NoCopy: []string{"b@example.com"}},
		Corrects: "p"}
	again := d.Again()
	again.Template.Documents[1].Name, again.Signers[0].Email = "changed", "changed"
	same(t, "again", []any{d.DocumentCount(), again.Name, again.NoCopy, again.Corrects, again.Template.Documents[0].File, lease.Documents[0].File,
		lease.Documents[1].Name, d.Signers[0].Email},
		[]any{2, "Lease", d.NoCopy, "p", "", "x.pdf", "", "a@example.com"})
}

func TestPresetsAreKeptByTheirNames(t *testing.T) {
	typed := func(name string) FormPreset { return FormPreset{name, Form{Message: name}} }
	list := WithPreset(WithPreset(WithPreset(nil, typed("b")), typed("C")), typed("a"))
	same(t, "presets", []any{list, WithPreset(list, typed("B")), WithPreset(list, FormPreset{Name: "c"}), len(list)},
		[]any{[]FormPreset{typed("a"), typed("b"), typed("C")}, []FormPreset{typed("a"), typed("B"), typed("C")}, []FormPreset{typed("a"), typed("b")}, 3})
	for _, f := range []Form{{Files: []FormFile{{}}}, {Signers: []Signer{{}}}, {Template: &Template{}}, {Recipients: []Recipient{{}}},
		{NoCopy: []string{""}}, {Name: "x"}, {Message: "x"}, {Due: "x"}, {Reference: "x"}} {
		if f.Empty() {
			t.Errorf("taken for empty: %+v", f)
		}
	}
	if !(Form{Sequential: true, Separate: true}).Empty() {
		t.Error("a form into which nothing was typed is not empty")
	}
}

func TestASubjectLeadsToWhatItIsAbout(t *testing.T) {
	for s, want := range map[Subject]string{PackageSubject("1"): "package 1", PackagesSubject([]string{"1", "2"}): "packages 1,2",
		ProblemSubject("1"): "problem 1",
		DraftSubject("1"):   "draft 1", HotFolderSubject("1"): "folder 1", ActivitySubject: ""} {
		var got []string
		add := func(what, id string, ok bool) {
			if ok {
				got = append(got, what+" "+id)
			}
		}
		id, ok := s.Package()
		add("package", id, ok)
		ids, ok := s.Packages()
		add("packages", strings.Join(ids, ","), ok)
		id, ok = s.Problem()
		add("problem", id, ok)
		id, ok = s.Draft()
		add("draft", id, ok)
		id, ok = s.HotFolder()
		add("folder", id, ok)
		shown, asked := ShowSubject(s).Shows()
		same(t, string(s), []any{strings.Join(got, ";"), shown, asked}, []any{want, s, true})
	}
	s, asked := ShowRequested.Shows()
	_, other := StatusChanged.Shows()
	at := time.Unix(9, 0)
	same(t, "shown", []any{s, asked, other, Fact{ProblemID: "1", PackageID: "2"}.About(), Fact{PackageID: "2", Subject: "x"}.About(),
		Fact{Subject: "x"}.About(), Activity{Time: at}.When(),
		Activity{Time: at, Happened: When{at, true}}.When()}, []any{Subject(""), true, false, ProblemSubject("1"), PackageSubject("2"), Subject("x"),
		When{at, false}, When{at, true}})
}

func TestAJobIsKnownByItsParts(t *testing.T) {
	long := strings.Repeat("a", MaxID+1)
	keys := []string{Job{PackageID: "a/b", DocumentID: "c"}.Key(), Job{PackageID: "a", DocumentID: "b/c"}.Key(), Job{PackageID: "a", DocumentID: "b",
		Kind: "c"}.Key(), Job{PackageID: long}.Key()}
	wrong := message.ServiceAiling()
	same(t, "jobs", []any{keys[2], len(slices.Compact(slices.Sorted(slices.Values(keys)))), KeyPart(long[1:]), strings.HasPrefix(KeyPart("%"), "%"),
		len(KeyPart(long)), Job{Target: "a"}.WantedName(),
		Job{Wanted: "b", Target: "a"}.WantedName(), Job{Folder: "f"}.IndexFolder(), Job{ListIn: "l", Folder: "f"}.IndexFolder(),
		FirstProblem([]Job{{State: JobDone, Problem: message.ServiceBusy()}, {}, {State: JobPending, Kind: "cac", Problem: message.NotReady()},
			{State: JobPending, Kind: "cac", Problem: message.ServiceKnowsNot()}, {Problem: wrong}}),
		FirstProblem([]Job{{State: JobPending, Kind: "cac", Refused: time.Unix(1, 0), Problem: wrong}}),
		FirstProblem(nil), AllSaved(nil), AllSaved([]Job{{State: JobDone}}), AllSaved([]Job{{State: JobDone}, {}})},
		[]any{"a/b/c", 4, long[1:], true, 65, "a", "b", "f", "l", wrong, wrong, message.Message{}, false, true, false})
}

func TestWhatIsSmallIsSaidOnce(t *testing.T) {
	asked := func(change func(*Package)) bool {
		p := Package{State: PackageOpen, Inquiry: Inquiry{Checked: time.Unix(9, 0), NextCheck: time.Unix(9, 0)}}
		change(&p)
		return p.NamesToCome()
	}
	same(t, "names to come", []any{asked(func(*Package) {}), asked(func(p *Package) { p.Checked = time.Time{} }),
		asked(func(p *Package) { p.NextCheck = AtOnce }),
		asked(func(p *Package) { p.RecordPending = time.Unix(9, 0) }), asked(func(p *Package) {
			p.RecordPending, p.State = time.Unix(9, 0),
				PackageExpired
		}),
		asked(func(p *Package) { p.NextCheck, p.State, p.Planned = AtOnce, PackageExecuted, true })}, []any{false, true, true, true, false, false})
	same(t, "final", []any{Package{State: PackageExecuted}.Final(), Package{State: PackageExecuted, Saving: Saving{Planned: true}}.Final(),
		Package{State: PackageExpired}.Final(),
		Package{State: PackageExpired, Inquiry: Inquiry{RecordPending: time.Unix(9, 0)}}.Final(), Package{State: PackageOpen,
			Saving: Saving{Planned: true}}.Final()}, []any{false, true, true, false, false})
	same(t, "names of files", []any{IsOwn("a.Countersign"), IsOwn("a.countersign-backup"), IsOwn("a.pdf"), Sendable("a.PDF"), Sendable("a.exe"),
		Sendable("pdf"), slices.Contains(SendableEndings(), ".docx"),
		Intake{At: "Waiting/x/a.pdf"}.Place(), Intake{At: "a.pdf"}.Place(), HotFolder{Path: filepath.Join("x", "In")}.Called()}, []any{true, true, false,
		true, false, false, true, "Waiting", "", "In"})
	same(t, "words of others", []any{ReferenceIn(json.RawMessage(`{"value":"v","reference":"r"}`)), ReferenceIn(json.RawMessage(`{"value":"v"}`)),
		ReferenceIn(json.RawMessage(`7`)), ReferenceIn(json.RawMessage(`"w"`)), ReferenceIn(json.RawMessage(`"{\"reference\":\"s\"}"`)), HasExternalData(nil),
		HasExternalData(json.RawMessage("null")), HasExternalData(json.RawMessage("7")), TagAt("s", ""), TagAt("s", "1") == TagAt("t", "1"), TagAt("s", "1") == TagAt("s", "2")},
		[]any{"r", "v", "", "w", "s", false, false, true, "", false, false})
	var state PackageState
	err := json.Unmarshal([]byte(`" Executed "`), &state)
	same(t, "a state", []any{state, err, json.Unmarshal([]byte("7"), new(PackageState)) != nil, Secrets{" s\n", "t\r\n", " k"}.Normal(), len(Secrets{"s\x00",
		"t", ""}.Check()), len(Secrets{"s", "t", "k"}.Check()), Decision{}.Pending(),
		Decision{At: time.Unix(9, 0)}.Pending()}, []any{PackageExecuted, nil, true, Secrets{"s", "t", "k"}, 1, 0, false, true})
}

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

func TestPapersMayGoWithTheEndOfTheYearTheirRuleSays(t *testing.T) {
	signed := time.Date(2020, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rule  string
		names []string
		want  int // year at whose beginning it may go; 0 for never
	}{
		{"", nil, 0}, {"10", nil, 2031}, {" 10 ; ", []string{"Lease"}, 2031}, {"10; Lease: 30", []string{"", "LEASE"}, 2051}, {"Lease: 30", []string{"Offer"}, 0},
		{"10; Lease: 2", []string{"Lease"}, 2023}, {"Scans: 6; Lease: 30", []string{"Scans", "Lease"}, 2051}, {"Case 1:2: 5", []string{"case 1:2"}, 2026},
	} {
		r, ok := ParseRetention(c.rule)
		year := 0
		if until := r.Until(signed, c.names...); !until.IsZero() {
			year = until.Year()
		}
		if !ok || year != c.want {
			t.Errorf("%q of %q: %d, %v, want %d", c.rule, c.names, year, ok, c.want)
		}
	}
	for _, wrong := range []string{"ten", "0", "-1", "101", "10; 11", "Lease", "Lease:", ": 10", "Lease: 1; lease: 2", "10 years"} {
		if r, ok := ParseRetention(wrong); ok {
			t.Errorf("%q is taken for %+v", wrong, r)
		}
	}
	if until := (Retention{Years: 10}).Until(time.Time{}); !until.IsZero() {
		t.Errorf("what was never signed may go in %v", until)
	}
}

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
