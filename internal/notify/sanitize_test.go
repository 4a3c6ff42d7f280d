package notify

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// nasty are texts that have done harm somewhere, and what people should see instead.
var nasty = []struct{ name, text, want string }{
	{"plain", `Lease Sonnenweg 4 is signed by everyone.`, `Lease Sonnenweg 4 is signed by everyone.`},
	{"quotes", `"Lease" of 'Ana'`, `”Lease” of ’Ana’`},
	{"curly quotes", "“a” „b‟ ‘c’ ‚d‛ «e» ‹f› 「g」 ＂h＂ ＇i＇", "“a” „b” ‘c’ ‚d’ «e» ‹f› ”g” ”h” ’i’"},
	{"PowerShell", `$(Remove-Item C:\x) ${env:PATH} $x`, `＄(Remove-Item C:∖x) ＄{env:PATH} ＄x`},
	{"backticks", "`id` ´x´", "’id’ ’x’"},
	{"markup", `<b>bold</b> & <a href="x">y</a> &amp; <img src=x>`, `<b>bold</b> & <a href=”x”>y</a> &amp; <img src=x>`},
	{"lines", "a\r\nb\nc\u2028d\u0085e\tf", "a b c d e f"},
	{"here-string", "x\n\"@\nRemove-Item y", "x ”@ Remove-Item y"},
	{"controls", "a\x00b\x1b[31mc\x7fd", "ab[31mcd"},
	{"bidi", "invoice\u202efdp.exe\u202c \u2066x\u2069\u200e", "invoicefdp.exe x"},
	{"zero width", "a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg", "abcdefg"},
	{"tags", "a\U000e0041\U000e0042b", "ab"},
	{"emoji", "👍🏽 🇨🇭 ❤️ 😀", "👍🏽 🇨🇭 ❤ 😀"},
	{"option", "--help", "‐-help"},
	{"hidden option", " \u200b-e", "‐e"},
	{"not UTF-8", "a\xffb\xc0\xaf", "ab"},
	{"nothing", "\u200b\u2800\n", ""},
	{"scripts", "Договор 契約書 عقد", "Договор 契約書 عقد"},
}

func TestHarmless(t *testing.T) {
	for _, tt := range nasty {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, Sanitize(tt.text, 400), tt.want, "got %q, want %q", tt.want)
		})
	}
}

func TestHarmlessIsCappedBetweenCharacters(t *testing.T) {
	for _, tt := range []struct {
		text string
		max  int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcde…"},
		{"abcd efg", 6, "abcd…"},
		{"n\u0323\u0302n\u0323\u0302n\u0323\u0302", 4, "ṇ\u0302…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{strings.Repeat("😀", 10000), 3, "😀😀…"},
	} {
		if got := Sanitize(tt.text, tt.max); got != tt.want {
			t.Errorf("%q to %d: got %q, want %q", tt.text[:min(20, len(tt.text))], tt.max, got, tt.want)
		}
	}
}

func FuzzHarmless(f *testing.F) {
	for _, tt := range nasty {
		f.Add(tt.text, 400)
		f.Add(tt.text, 3)
	}
	f.Add("-\u0338", 2)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = min(most, 10000)
		got := Sanitize(text, most)
		if !utf8.ValidString(got) {
			t.Error("not UTF-8")
		}
		if n := utf8.RuneCountInString(got); n > max(most, 0) {
			t.Errorf("%d characters", n)
		}
		if strings.HasPrefix(got, "-") || strings.TrimSpace(got) != got {
			t.Errorf("got %q", got)
		}
		for _, r := range got {
			if strings.ContainsRune("$`\\\"'\u00b4‟‛\n\r", r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
				t.Errorf("%U is left in %q", r, got)
			}
		}
		expect(t, Sanitize(got, most), got, "a second time it becomes %q, not %q", got)
	})
}
