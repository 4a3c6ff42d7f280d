package agent

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// hostileNames are names as nobody friendly gives them.
var hostileNames = []string{
	"a\nb\r\nc\u2028d\u2029e\vf\u0085g",
	"evil\u202egnp.exe\u2066x\u2069\u200e\u200f\u061c",
	"nul\x00 esc\x1b[31m bell\a del\x7f",
	"<b>bold</b> $(reboot) `id` \"quoted\" 'single' ]]> \\",
	strings.Repeat("Ä", 10_000),
	"\xff\xfe broken",
	"tags\U000e0041\U000e007f and \u3164filler",
}

func harmless(t *testing.T, what, s string, most int) {
	t.Helper()
	bad := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r >= 0xe0000 && r <= 0xe0fff
	}
	if strings.ContainsFunc(s, bad) || !utf8.ValidString(s) || utf8.RuneCountInString(s) > most {
		t.Errorf("%s: %d characters, %q", what, utf8.RuneCountInString(s), s[:min(len(s), 200)])
	}
}

func TestTextsFromOutsideAreOneBoundedLine(t *testing.T) {
	for _, name := range append(hostileNames, "", " two  words ", "family \u200d emoji", "naïve ﷺ 日本") {
		got := message.OneLine(name, 80)
		harmless(t, "oneLine", got, 80)
		if again := message.OneLine(got, 80); again != got {
			t.Errorf("not settled: %q, %q", got, again)
		}
	}
	for text, want := range map[string]string{
		"": "", "Offer": "Offer", " two  words ": "two words", "a\nb": "a b", "x\u202ey": "xy", "\u2066": "", "日本": "日本",
	} {
		if got := message.OneLine(text, 80); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestHostileNamesReachNoScreenAsTheyAre(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	for _, name := range hostileNames {
		d := o.draft()
		d.Name, d.Sequential = strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "?"), true
		d.Signers = []office.Signer{{FirstName: d.Name[:min(len(d.Name), 60)], LastName: "\u202eLast\n", Email: "x@example.com"}}
		d.Signers[0].FirstName = strings.ToValidUTF8(d.Signers[0].FirstName, "")
		if state, err := o.Send(t.Context(), d, nil); err != nil || state.State != office.DraftSent {
			continue // the service has its own mind about some of them
		}
	}
	packages := o.service.Packages()
	if len(packages) < 4 {
		t.Fatalf("the service took %d packages", len(packages))
	}
	for _, p := range packages {
		signAll(o, p.PackageID)
	}
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == len(packages) })
	o.eventually("told", func() bool {
		return o.count("Everyone has signed “") > 0 || o.count("changed while you were away") > 0
	})
	for _, n := range o.notifications() {
		harmless(t, "notification", n, 901)
	}
	for _, x := range o.Activity(1000) {
		harmless(t, "activity", x.Text.String(), 900)
	}
	for _, l := range o.Lines() {
		harmless(t, "line", l.Name, office.MaxName)
		harmless(t, "line", l.Next+l.People, 4*office.MaxName)
	}
	if got := o.files(); len(got) != len(packages) {
		t.Errorf("%d files for %d packages", len(got), len(packages))
	}
}
