package notify

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"countersign/internal/office"
	"countersign/internal/trytest"
)

// raising is a Notifier with a function in place of the desktop.
func raising(raise func(office.Notice) error) *Notifier {
	n := New(Options{})
	n.raise = func(_ context.Context, notice office.Notice) error { return raise(notice) }
	return n
}

func TestRaiseGetsHarmlessText(t *testing.T) {
	var title, body string
	n := raising(func(n office.Notice) error { title, body = n.Title, n.Body; return nil })
	defer n.Close()
	noErr(t, n.Notify(office.Notice{Title: "$x\n", Body: strings.Repeat("a", 10000)}))
	if title != "＄x" || body != strings.Repeat("a", maxBody-1)+"…" {
		t.Errorf("got %q, %q", title, body)
	}
}

func TestErrorsAndPanicsOfTheDesktopComeBack(t *testing.T) {
	broken := errors.New("no display")
	n := raising(func(n office.Notice) error {
		if n.Title == "panic" {
			panic("nil icon")
		}
		return broken
	})
	defer n.Close()
	if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := n.Notify(office.Notice{Title: "panic", Body: "b"}); err == nil || !strings.Contains(err.Error(), "nil icon") {
		t.Errorf("got %v", err)
	}
	if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, broken) {
		t.Errorf("after a panic: got %v", err)
	}
}

func TestAHangingDesktopHoldsUpNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var outstanding atomic.Int32
		n := raising(func(office.Notice) error {
			outstanding.Add(1)
			defer outstanding.Add(-1)
			<-hang
			return nil
		})
		start := time.Now()
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, ErrTimeout) {
			t.Errorf("first: got %v", err)
		}
		if took := time.Since(start); took != limit {
			t.Errorf("first took %v", took)
		}
		for range 3 {
			start := time.Now()
			if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, ErrBusy) || time.Since(start) != limit {
				t.Errorf("later: got %v after %v", err, time.Since(start))
			}
		}
		synctest.Wait()
		expect(t, outstanding.Load(), 1, "%d goroutines wait")
		close(hang)
		synctest.Wait()
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); err != nil {
			t.Errorf("when it is back: got %v", err)
		}
		n.Close()
	})
}

func TestNotificationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int32
		n := raising(func(office.Notice) error {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(time.Second) // of the bubble's clock
			at.Add(-1)
			return nil
		})
		results := make(chan error, 4)
		for range cap(results) {
			go func() { results <- n.Notify(office.Notice{Title: "a", Body: "b"}) }()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		expect(t, most.Load(), 1, "%d at once")
		n.Close()
	})
}

func TestCloseEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		n := raising(func(office.Notice) error { <-hang; return nil })
		result := make(chan error, 2)
		go func() { result <- n.Notify(office.Notice{Title: "a", Body: "b"}) }()
		synctest.Wait()
		go func() { result <- n.Notify(office.Notice{Title: "a", Body: "b"}) }()
		synctest.Wait()
		n.Close()
		n.Close()
		for range cap(result) {
			if err := <-result; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); !errors.Is(err, ErrClosed) {
			t.Errorf("after: got %v", err)
		}
		close(hang)
	})
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// A notification that the desktop accepted is no failure, however fast that was.
func TestWhatIsShownAtOnceIsNoFailure(t *testing.T) {
	n := raising(func(office.Notice) error { return nil })
	defer n.Close()
	for i := range 50_000 {
		if err := n.Notify(office.Notice{Title: "a", Body: "b"}); err != nil {
			t.Fatalf("notification %d: %v", i, err)
		}
	}
}

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
