//go:build !windows && !darwin

package drop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"

	"countersign/internal/message"
)

const (
	xds    = "XdndDirectSave0"
	octets = "application/octet-stream"
	list   = "text/uri-list"
)

func (b *board) told1(wrong []error) string {
	b.t.Helper()
	if len(wrong) != 1 {
		b.t.Fatalf("the window is told %v", wrong)
	}
	return message.For(wrong[0]).ID()
}

func TestTheWindowIsToldWhatIsOverItAndTakesIt(t *testing.T) {
	b := newBoard(t)
	odd := filepath.Join(t.TempDir(), "\xc4nderung.pdf")
	must(t, os.WriteFile(odd, nil, 0o600))
	s := b.source("text/plain", "x", "a/b", "", "c/d", "", list, "# a comment\nfile://localhost/a%20b.pdf\nfile:"+filepath.Dir(odd)+"/%C4nderung.pdf")
	s.enter()
	b.quiet()
	if !s.move(110, 70) {
		t.Error("a file is refused")
	}
	if at := b.next("over").at; at != (Point{10, 20}) {
		t.Errorf("it is over %v", at)
	}
	s.move(111, 72)
	b.next("over")
	if len(s.asked) > 0 {
		t.Errorf("it was asked for %q while still over the window", s.asked)
	}
	if !s.drop() {
		t.Error("the drop was not taken")
	}
	b.next("left")
	if d := b.next("dropped"); !slices.Equal(d.paths, []string{"/a b.pdf", odd}) || len(d.wrong) > 0 || d.at != (Point{11, 22}) {
		t.Errorf("dropped %+v", d)
	}
	b.quiet()
}

func TestTheSignGoesWithWhatIsDragged(t *testing.T) {
	b := newBoard(t)
	over := func() *source {
		s := b.source(list, "file:///a").enter()
		s.move(110, 70)
		b.next("over")
		return s
	}
	over().leave()
	b.next("left")
	over().conn.Close()
	b.next("left")
	first := over() // another one begins before the first has said that it is over
	second := b.source(list, "file:///b").enter()
	b.next("left")
	second.move(110, 70)
	b.next("over")
	first.leave()
	if !second.drop() {
		t.Error("the second is not taken")
	}
}

func TestTheSignGoesWhenNobodyHoldsAButton(t *testing.T) {
	b := newBoardThat(t, func(p *patience) { p.held = 50 * time.Millisecond })
	s := b.source(list, "file:///a").enter()
	s.move(110, 70)
	b.next("over")
	b.next("left")
	if !s.move(120, 70) { // it was only slow
		t.Error("a file is refused")
	}
	b.next("over")
	b.next("left")
	if !s.drop() {
		t.Error("the drop was not taken")
	}
	if d := b.next("dropped"); len(d.paths) != 1 {
		t.Errorf("dropped %+v", d)
	}
}

func TestAFileWithoutAPlaceIsSavedByItsProgram(t *testing.T) {
	b := newBoard(t)
	s := b.source(xds, "", octets, "not these", list, "https://example.com/a.pdf\r\n", "text/x-moz-url", "x", "_NETSCAPE_URL", "x")
	must(t, xproto.ChangePropertyChecked(s.conn, xproto.PropModeReplace, s.window, s.atom(xds), s.atom("text/plain"), 8, 19, []byte("../../Lease \xc4 4.pdf")).Check())
	s.saves = func(path string) byte {
		must(t, os.WriteFile(path, []byte("saved"), 0o600))
		return 'S'
	}
	s.enter()
	if !s.move(110, 70) || !s.drop() {
		t.Error("it was not taken")
	}
	b.next("over")
	b.next("left")
	d := b.next("dropped")
	if len(d.paths) != 1 || filepath.Dir(d.paths[0]) != b.folder || filepath.Base(d.paths[0]) != "Lease Ä 4.pdf" || len(d.wrong) > 0 {
		t.Fatalf("dropped %+v", d)
	}
	if data, err := os.ReadFile(d.paths[0]); err != nil || string(data) != "saved" {
		t.Errorf("saved is %q, %v", data, err)
	}
}

func TestAFileWithoutAPlaceIsHandedOver(t *testing.T) {
	large := "%PDF-" + strings.Repeat("0123456789", 60_000)
	for name, c := range map[string]struct {
		offers []string
		pieces int
		saves  byte
		stalls bool
		want   string // its content
		called string
		told   string
	}{
		"in one piece":            {[]string{octets, "%PDF-1"}, 0, 0, false, "%PDF-1", "Document.pdf", ""},
		"in pieces":               {[]string{octets, large}, 65_000, 0, false, large, "Document.pdf", ""},
		"without a known kind":    {[]string{octets, "abc"}, 0, 0, false, "abc", "Document", ""},
		"empty":                   {[]string{octets, ""}, 10, 0, false, "", "Document", ""},
		"as a PDF":                {[]string{"application/pdf", "%PDF-2"}, 0, 0, false, "%PDF-2", "Document.pdf", ""},
		"when it cannot be saved": {[]string{xds, "", octets, large}, 65_000, 'F', false, large, "Document.pdf", ""},
		"when saving failed":      {[]string{xds, "", octets, "abc"}, 0, 'E', false, "", "", "drop.silent"},
		"only saved, and refused": {[]string{xds, ""}, 0, 'F', false, "", "", "drop.silent"},
		"a link":                  {[]string{list, "https://example.com/\r\n"}, 0, 0, false, "", "", "drop.no-file"},
		"of another computer":     {[]string{list, "file://server-9/a.pdf"}, 0, 0, false, "", "", "drop.elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t)
			s := b.source(c.offers...)
			s.pieces = c.pieces
			s.saves = func(path string) byte { return c.saves }
			s.enter()
			if !s.move(110, 70) {
				t.Fatal("it would not be taken")
			}
			if taken := s.drop(); taken != (c.told == "") {
				t.Errorf("its program is told %v", taken)
			}
			b.next("over")
			b.next("left")
			d := b.next("dropped")
			if c.told != "" {
				if got := b.told1(d.wrong); got != c.told || len(d.paths) > 0 {
					t.Errorf("the window is told %s and gets %q", got, d.paths)
				}
				return
			}
			if len(d.paths) != 1 || filepath.Base(d.paths[0]) != c.called || len(d.wrong) > 0 {
				t.Fatalf("dropped %+v", d)
			}
			if data, err := os.ReadFile(d.paths[0]); err != nil || string(data) != c.want {
				t.Errorf("%d bytes arrive, %v", len(data), err)
			}
		})
	}
}

func TestALateAnswerIsNoOtherFile(t *testing.T) {
	b := newBoard(t)
	first := b.source(octets, "the first file").enter()
	first.move(110, 70)
	b.next("over")
	first.owes()
	b.next("left")
	if d := b.next("dropped"); b.told1(d.wrong) != "drop.silent" {
		t.Fatalf("dropped %+v", d)
	}
	second := b.source(octets, "the second file").enter()
	second.before = first.answersLate
	if !second.move(110, 70) || !second.drop() {
		t.Error("the second is not taken")
	}
	b.next("over")
	b.next("left")
	d := b.next("dropped")
	if len(d.paths) != 1 {
		t.Fatalf("dropped %+v", d)
	}
	if data, err := os.ReadFile(d.paths[0]); err != nil || string(data) != "the second file" {
		t.Errorf("the second file is %q, %v", data, err)
	}
}

func TestWhatIsNotHandedOverWholeIsNotTaken(t *testing.T) {
	for name, how := range map[string]func(*source){
		"fewer pieces than it says": func(s *source) { s.pieces, s.least = 3, 100 },
		"pieces without end":        func(s *source) { s.pieces, s.endless = 3, true },
		"nothing, as if it were":    func(s *source) { s.claims = true },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoardThat(t, func(p *patience) { p.whole = 300 * time.Millisecond })
			s := b.source(octets, "some bytes")
			how(s)
			s.enter().move(110, 70)
			b.next("over")
			if s.drop() {
				t.Error("its program is told that it was taken")
			}
			b.next("left")
			if d := b.next("dropped"); len(d.paths) > 0 || len(d.wrong) != 1 {
				t.Errorf("dropped %+v", d)
			}
		})
	}
}

func TestAProgramThatMayYetSaveItsFileIsNotAskedForTheBytes(t *testing.T) {
	b := newBoardThat(t, func(p *patience) { p.saving = 50 * time.Millisecond })
	s := b.source(xds, "", octets, "bytes").enter()
	s.move(110, 70)
	b.next("over")
	s.stalls = true
	if s.drop() || len(s.asked) != 1 {
		t.Errorf("it was taken, or asked for: %q", s.asked)
	}
	b.next("left")
	if d := b.next("dropped"); b.told1(d.wrong) != "drop.silent" {
		t.Errorf("dropped %+v", d)
	}
}

func TestWhatIsNoFileIsRefusedBeforeItIsDropped(t *testing.T) {
	for name, offers := range map[string][]string{
		"a text":            {"UTF8_STRING", "hello"},
		"a link":            {list, "https://example.com/\r\n", "text/x-moz-url", "x"},
		"a link of Firefox": {"text/x-moz-url", "x", "_NETSCAPE_URL", "x", list, "https://example.com/", "text/html", "x"},
	} {
		b := newBoard(t)
		s := b.source(offers...)
		s.enter()
		if s.move(110, 70) {
			t.Errorf("%s would be taken", name)
		}
		b.next("over nothing")
		s.drop() // it should not, but does
		b.next("left")
		if d := b.next("dropped"); b.told1(d.wrong) != "drop.no-file" {
			t.Errorf("%s: the window is told %v", name, d.wrong)
		}
	}
}

func TestTheWindowKnowsThatFilesAreBeingFetched(t *testing.T) {
	for name, offers := range map[string][]string{"with a place": {list, "file:///a"}, "without one": {octets, "abc"}, "none": {list, "https://example.com/"}} {
		b := newBoard(t)
		s := b.source(offers...).enter()
		s.before = func() {
			for until := time.Now().Add(30 * time.Second); b.fetching.Load() != 1; time.Sleep(time.Millisecond) {
				if time.Now().After(until) {
					t.Fatalf("%s: %d drops are being fetched", name, b.fetching.Load())
				}
			}
		}
		s.move(110, 70)
		s.drop()
		b.next("over")
		b.next("left")
		b.next("dropped")
		if n := b.fetching.Load(); n != 0 {
			t.Errorf("%s: %d drops are still being fetched", name, n)
		}
	}
}

func TestAWindowThatTakesNothingNowGetsNothing(t *testing.T) {
	b := newBoard(t)
	b.refuses = true
	s := b.source(list, "file:///a").enter()
	if s.move(110, 70) {
		t.Error("it would be taken")
	}
	if s.drop() {
		t.Error("it was taken")
	}
	b.next("over")
	b.next("left")
	b.quiet()
}

func TestAWindowThatIsBusyLosesNoDrop(t *testing.T) {
	b := newBoardThat(t, func(p *patience) { p.busy = time.Millisecond })
	b.mu.Lock() // Over does not return
	s := b.source(list, "file:///a").enter()
	if !s.move(110, 70) {
		t.Error("a file is refused")
	}
	s.tell("XdndDrop", uint32(s.window), 0, 0, 0, 0)
	if s.answered("XdndFinished")[1]&1 == 0 {
		t.Error("the drop was not taken")
	}
	b.mu.Unlock()
	b.next("over")
	b.next("left")
	if d := b.next("dropped"); len(d.paths) != 1 {
		t.Errorf("dropped %+v", d)
	}
}

func TestAProgramThatEndsWhileItHandsOverIsNoMatter(t *testing.T) {
	b := newBoard(t)
	s := b.source(octets, "abc").enter()
	s.move(110, 70)
	b.next("over")
	s.stalls = true
	s.tell("XdndDrop", uint32(s.window), 0, 0, 0, 0)
	b.next("left")
	s.conn.Close()
	if d := b.next("dropped"); b.told1(d.wrong) != "drop.silent" {
		t.Errorf("dropped %+v", d)
	}
	again := b.source(list, "file:///a").enter()
	if !again.move(110, 70) || !again.drop() {
		t.Error("the next drop is not taken")
	}
}

func TestItEndsAtAnyMoment(t *testing.T) {
	b := newBoard(t)
	s := b.source(octets, "abc").enter()
	s.move(110, 70)
	s.stalls = true
	s.tell("XdndDrop", uint32(s.window), 0, 0, 0, 0)
	b.stop()
}

// TestItEndsThoughADiskDoesNotAnswer has a file dropped on a network drive that has gone.
func TestItEndsThoughADiskDoesNotAnswer(t *testing.T) {
	b := newBoardThat(t, func(p *patience) { p.ending = 10 * time.Millisecond })
	b.hangs = make(chan bool)
	s := b.source(list, "file:///a").enter()
	if !s.move(110, 70) {
		t.Fatal("a file is refused")
	}
	s.tell("XdndDrop", uint32(s.window), 0, 0, 0, 0)
	for handed := false; !handed; {
		event, err := s.conn.WaitForEvent()
		if event == nil {
			t.Fatal("it is asked for nothing: ", err)
		}
		if e, is := event.(xproto.SelectionRequestEvent); is {
			s.hand(e)
			handed = true
		}
	}
	<-b.hangs
	b.stop()
	b.hangs <- true
}
