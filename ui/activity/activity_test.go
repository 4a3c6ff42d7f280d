package activity

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/theme"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// bench is the screen on its bench.
type bench struct {
	*screentest.Bench
	screen *Screen
}

func newBench(t *testing.T, o *officetest.Office) *bench {
	t.Helper()
	b := &bench{Bench: screentest.New(t, o)}
	b.screen = New(b.Env, b.Office)
	b.Open(b.screen, fyne.NewSize(900, 600))
	return b
}

// numbered are n events, newest first, numbered from the oldest on.
func numbered(n int) []office.Event {
	list := make([]office.Event, n)
	for i := range list {
		list[i] = office.Event{ID: fmt.Sprint("e", n-i), Action: "document_signed", PackageID: "p1", Outcome: office.EventHandled,
			Received: officetest.Now.Add(-time.Duration(i) * time.Minute), Body: []byte(`{"a":1}`)}
	}
	return list
}

func TestTheListOfEventsKeepsItsPlace(t *testing.T) {
	o := officetest.Busy()
	o.Arrived = numbered(1000)
	b := newBench(t, o)
	b.screen.ShowEvents()
	b.screen.events.list.Select(150)
	b.screen.events.list.ScrollTo(200)
	top, _ := b.screen.events.list.Top()
	o.Change(office.ActivityChanged, func(o *officetest.Office) { o.Arrived = append(numbered(1003)[:3], o.Arrived...) })
	b.Reload()
	if now, _ := b.screen.events.list.Top(); now != top+3 || b.screen.events.list.At() != 153 {
		t.Errorf("the view moved from %d to %d; chosen is row %d", top, now, b.screen.events.list.At())
	}
}

func TestWithoutAPublicAddressNoEventIsAwaitedAndNoneExported(t *testing.T) {
	o := officetest.Empty()
	b := newBench(t, o)
	b.screen.ShowEvents()
	said := func() string { return screentest.Text(b.screen.content) }
	if !strings.Contains(said(), "One arrives each time") || !b.screen.export.Disabled() {
		t.Errorf("it says %s", said())
	}
	o.Change(office.ActivityChanged, func(o *officetest.Office) { o.State.Tunnel.Kind = string(office.TunnelNone) })
	b.Reload()
	if !strings.Contains(said(), "There is no public address.") || strings.Contains(said(), "One arrives") {
		t.Errorf("without an address it says %s", said())
	}
	b.Press(b.screen.content, "Open settings")
	screentest.Equal(t, "it leads", b.Went, []string{"step " + message.StepAddress().String()})
	o.Change(office.ActivityChanged, func(o *officetest.Office) { o.Arrived = numbered(1) })
	b.Reload()
	screentest.Equal(t, "events of before can be exported", b.screen.export.Disabled(), false)
}

func TestAnEventThatWasNotUnderstoodCanBeTriedAgain(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.ShowEvents()
	again := func() {
		b.screen.ChooseEvent(5)
		b.Press(screentest.Top(b.Window), "Try again")
	}
	again()
	if got := b.screen.events.rows[5]; got.Outcome != office.EventPending || !got.Reason.IsZero() {
		t.Errorf("it is %q, %q", got.Outcome, got.Reason)
	}
	b = newBench(t, officetest.Busy())
	b.Office.Arrived[5].ID = "another"
	again()
	if len(b.Notices) != 1 || b.Notices[0] != message.EventUnreadable().String() {
		t.Errorf("said %q", b.Notices)
	}
}

func TestABodyIsShownAndCopiedAsItCame(t *testing.T) {
	raw := `{"b":1,  "a":"` + strings.Repeat("ä", maxShown) + `"}`
	if shown, whole := bodyOf([]byte(raw)); !strings.HasPrefix(shown, "{\n  \"b\": 1,\n") || len(shown) > maxShown+8 || whole {
		t.Errorf("shows %.40q of %d bytes", shown, len(shown))
	}
	if shown, whole := bodyOf([]byte("\xff not JSON")); shown != "\uFFFD not JSON" || !whole {
		t.Errorf("shows %q", shown)
	}
	o := officetest.Busy()
	o.Arrived[0].Body = []byte(raw)
	b := newBench(t, o)
	b.screen.ChooseEvent(0)
	b.Press(screentest.Top(b.Window), "Copy")
	screentest.Equal(t, "what is copied is exactly what came", b.Copied[0], raw)
}

// sheet is a file in memory that may be full.
type sheet struct {
	bytes.Buffer
	room int
}

func (s *sheet) Write(p []byte) (int, error) {
	if s.Len()+len(p) > s.room {
		return 0, errors.New("no space left on device")
	}
	return s.Buffer.Write(p)
}

func (s *sheet) fill(fill func(io.Writer) error) error { return fill(s) }

func TestAllEventsAreExported(t *testing.T) {
	o := officetest.Busy()
	o.Arrived = append(o.Arrived, numbered(450)...)
	o.Arrived[0].Reason = message.SignerTwice(`=HYPERLINK("http://example.com")`)
	b := newBench(t, o)
	file := &sheet{room: 1 << 20}
	b.screen.Export("events.csv", file.fill)
	b.Settle()
	rows, err := csv.NewReader(&file.Buffer).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 457 || b.Notices[0] != "456 events were exported." || b.screen.stop != nil {
		t.Fatalf("%d rows, said %q", len(rows), b.Notices)
	}
	if got := strings.Join(rows[1][:11], "|"); got != "2026-11-21T13:42:00+01:00|2026-11-21T13:42:00+01:00|Package fully signed|Mandate Keller|p3|e-5|yes|waiting to be processed|'=HYPERLINK(\"http://example.com\") is listed twice as a signer.||0" {
		t.Errorf("the first row is %s", got)
	}
	screentest.Equal(t, "the body is", rows[1][11], string(o.Arrived[0].Body))
}

func TestAnExportIsWrittenForTheExcelOfTheLanguage(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for code, want := range map[string]string{"en": "\ufeffreceived,happened,", "de": "\ufeffreceived;happened;"} {
		screentest.Speak(t, code)
		file := &sheet{room: 1 << 20}
		b.screen.Export("events.csv", file.fill)
		b.Settle()
		if got := file.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: begins with %q", code, got[:min(len(got), 30)])
		}
	}
}

// The desktop's dialog has asked before it names a file that is there, and ours does not name one.
func TestAnExportReplacesOnlyWhatThePersonHasAgreedTo(t *testing.T) {
	b := newBench(t, officetest.Busy())
	path := filepath.Join(t.TempDir(), "events.csv")
	if err := os.WriteFile(path, []byte("of last year"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.screen.exportTo(path, false)
	b.Settle()
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "of last year" || len(b.Notices) != 1 {
		t.Errorf("it holds %q, said %q, %v", kept, b.Notices, err)
	}
	b.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) {
		if d.Kind != system.SaveFile || !strings.HasSuffix(d.Name, ".csv") {
			t.Errorf("asked for %+v", d)
		}
		return []string{path}, nil
	}
	b.screen.pressExport()
	b.Settle()
	if now, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(now), "\ufeffreceived,") || strings.Contains(string(now), "last year") {
		t.Errorf("it holds %q, %v", now, err)
	}
}

func TestAFullDiskIsSaid(t *testing.T) {
	b := newBench(t, officetest.Busy())
	file := &sheet{room: 100}
	b.screen.Export("events.csv", file.fill)
	b.Settle()
	if len(b.Notices) != 1 || !strings.HasPrefix(b.Notices[0], "“events.csv” could not be written.") {
		t.Errorf("said %q", b.Notices)
	}
}

func TestAnExportCanBeStopped(t *testing.T) {
	o := officetest.Busy()
	o.Arrived = numbered(1000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n, err := writeEvents(ctx, &sheet{room: 1 << 20}, o, time.UTC)
	if n != pageLength || !errors.Is(err, context.Canceled) {
		t.Errorf("wrote %d, %v", n, err)
	}
}

func TestWhatWasRefusedIsCountedAndSampled(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.ShowEvents()
	for _, want := range []string{"43 requests not accepted", "from 203.0.113.9 · and 41 more of this kind"} {
		if said := screentest.Text(b.screen.blocked); !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
}

func TestALongNameKeepsTheEndThatTellsItApart(t *testing.T) {
	o := officetest.Busy()
	for i := range o.Rows {
		if o.Rows[i].ID == "p3" {
			o.Rows[i].Name = "Anlage zum Gesellschaftsvertrag der " + strings.Repeat("Musterfirma Liegenschaften und Beteiligungen ", 4) + "– Fassung 7"
		}
	}
	b := newBench(t, o)
	if said := screentest.Text(b.screen.content); !strings.Contains(said, "Anlage zum") || !strings.Contains(said, "– Fassung 7") {
		t.Errorf("it says %s", said)
	}
}

func TestWhatHappenedToAPackageOnADayStandsUnderItsName(t *testing.T) {
	o := officetest.Busy()
	o.Happened = append(o.Happened[:3:3], office.Activity{Time: officetest.Now.Add(-2 * time.Hour), Kind: "sent", PackageID: "p3", Text: message.SentTo("Mandate Keller", 1)})
	b := newBench(t, o)
	var says []string
	for i := range b.screen.happened.rows {
		row := newLine()
		b.screen.showRow(b.screen.happened.rows[i], row)
		says = append(says, row.title.Text+": "+row.below.Text)
	}
	screentest.Equal(t, "it says", strings.Join(says, "|"),
		"Mandate Keller: 1 file saved · Thomas Keller signed · Sent to 1 person|Offer 2026-118: Sent to 2 people")
	screentest.Equal(t, "of what happened", len(b.screen.happened.rows[0].entries), 3)
	r := b.screen.happened.rows[0]
	r.entries = append([]office.Activity{{Kind: office.ActivityExecuted, PackageID: "p3", Text: message.EveryoneSigned("Mandate Keller")}}, r.entries...)
	_, below := r.says()
	screentest.Equal(t, "once everyone has signed", below, "1 file saved · Everyone has signed · Sent to 1 person")
	r.mended = false
	r.entries = append([]office.Activity{{Kind: office.ActivityWithdrawn, PackageID: "p3", Text: message.Then(message.Withdrew("olivia.office@example.com", "Mandate Keller"), message.WithdrawnSaying("Wrong version"))},
		{Kind: office.ActivityProblem, PackageID: "p3", Text: message.Then(message.NotWithdrawn("Mandate Keller"), message.ServiceSilent())}}, r.entries[1:2]...)
	_, below = r.says()
	screentest.Equal(t, "what needs somebody is first, and nothing names the package again", below,
		"“Mandate Keller” was not withdrawn · The signing service did not answer. Check the internet connection · 1 file saved · Withdrawn by olivia.office · “Wrong version”")
}

// Twelve equal rows for one press would hide what else happened.
func TestSendingAListIsOneRowThatOpensIt(t *testing.T) {
	o := officetest.Busy()
	o.Bulk = []office.BulkProgress{{Bulk: office.Bulk{ID: "b1", File: "Tenants.csv", Documents: []string{"Lease"}, Lines: 3, Faulty: 1}, Sent: 2}}
	o.Happened = []office.Activity{
		{Time: officetest.Now, Kind: office.ActivityProblem, List: "b1", Text: message.NotSent("Lease Zoë")},
		{Time: officetest.Now, Kind: office.ActivitySent, PackageID: "p2", List: "b1", Text: message.SentTo("Offer 2026-118", 2)},
		{Time: officetest.Now, Kind: office.ActivityEvent, PackageID: "p1", Text: message.Signed("Jan Weber", "Lease Sonnenweg 4")},
		{Time: officetest.Now, Kind: office.ActivitySent, PackageID: "p1", List: "b1", Text: message.SentTo("Lease Sonnenweg 4", 1)},
		{Time: officetest.Now, Kind: office.ActivitySent, List: "b1", Text: message.ListBegun(3, "Tenants.csv")},
		{Time: officetest.Now.Add(-24 * time.Hour), Kind: office.ActivitySent, PackageID: "p5", List: "forgotten", Text: message.SentTo("Old offer", 1)}}
	b := newBench(t, o)
	says := func() (all []string) {
		for _, r := range b.screen.happened.rows {
			title, below := r.says()
			all = append(all, title+": "+below)
		}
		return all
	}
	screentest.Equal(t, "it says", strings.Join(says(), "|"),
		"Lease: 2 of 3 packages sent · “Lease Zoë” was not sent.|Lease Sonnenweg 4: Jan Weber signed|Old offer: Sent to 1 person")
	screentest.Equal(t, "its mark", b.screen.happened.rows[0].mark(), theme.MarkProblem)
	b.screen.openRow(b.screen.happened.rows[0])
	screentest.Equal(t, "a press opens", strings.Join(b.Went, ""), "list b1")
	o.Change(office.ActivityChanged, func(o *officetest.Office) {
		o.Happened = append([]office.Activity{{Time: officetest.Now, Kind: office.ActivitySent, PackageID: "p9", List: "b1", Text: message.SentTo("Lease Zoë", 1)}}, o.Happened...)
	})
	b.Reload()
	screentest.Equal(t, "once it was sent after all", says()[0]+string(b.screen.happened.rows[0].mark()), "Lease: 3 of 3 packages sent · “Lease Zoë” was not sent."+string(theme.MarkSent))
	o.Change(office.ActivityChanged, func(o *officetest.Office) { o.Happened = o.Happened[5:6] })
	b.Reload()
	screentest.Equal(t, "before the first is sent", says()[0], "Lease: Sending 3 packages from the list “Tenants.csv”.")
}

// However long ago the first of them was sent, and whatever is read of that.
func TestAListSaysHowMuchOfAllOfItWasSent(t *testing.T) {
	o := officetest.Busy()
	o.Bulk = []office.BulkProgress{{Bulk: office.Bulk{ID: "b1", Documents: []string{"Lease"}, Lines: 800}, Sent: 800}, {Bulk: office.Bulk{ID: "b2", Documents: []string{"Offer"}, Lines: 10}, Sent: 9, Wrong: 1}}
	o.Happened = nil
	sent := func(list string, n, daysAgo int) {
		for range n {
			o.Happened = append(o.Happened, office.Activity{Time: officetest.Now.AddDate(0, 0, -daysAgo), Kind: office.ActivitySent, PackageID: fmt.Sprint(len(o.Happened)), List: list, Text: message.SentTo("Lease", 1)})
		}
	}
	sent("b2", 2, 0)
	o.Happened = append(o.Happened, office.Activity{Time: officetest.Now, Kind: office.ActivityProblem, List: "b1", Text: message.ListStalled("Tenants.csv")})
	sent("b1", 9, 0)
	sent("b1", 300, 1) // those before are not read
	b := newBench(t, o)
	var says []string
	for _, r := range b.screen.happened.rows {
		title, below := r.says()
		says = append(says, title+": "+strings.SplitN(below, " · ", 2)[0]+" "+string(r.mark()))
	}
	screentest.Equal(t, "it says", says, []string{"Offer: 9 of 10 packages sent " + string(theme.MarkSent), "Lease: 800 of 800 packages sent " + string(theme.MarkSent), "Lease: 800 of 800 packages sent " + string(theme.MarkSent)})
}

// No other page says it.
func TestWhoWasLetInCanBeRead(t *testing.T) {
	o := officetest.Busy()
	o.Happened = []office.Activity{{Time: officetest.Now, Kind: office.ActivityEndpoint, Text: message.EndpointSet()}}
	names := []string{"Reception", "Ben", "Carla", "Stranger"}
	for _, name := range names {
		o.Happened = append(o.Happened, office.Activity{Time: officetest.Now, Kind: office.ActivityDesk, Text: message.DeskInvited(name)})
	}
	o.Happened = append(o.Happened, office.Activity{Time: officetest.Now, Kind: office.ActivityDesk, Text: message.DeskRemoved("Anna")})
	b := newBench(t, o)
	var titles []string
	for _, r := range b.screen.happened.rows {
		title, _ := r.says()
		titles = append(titles, title)
	}
	for _, name := range append(names, "Anna") {
		if !slices.ContainsFunc(titles, func(title string) bool { return strings.Contains(title, name) }) {
			t.Errorf("no row is about %q: %q", name, titles)
		}
	}
}

// One sees when each of them happened.
func TestWhatHappenedToTheProgramSharesARowOnlyIfItHappenedTogether(t *testing.T) {
	o := officetest.Busy()
	o.Happened = []office.Activity{{Time: officetest.Now, Kind: office.ActivityEndpoint, Text: message.EndpointSet()},
		{Time: officetest.Now.Add(-time.Minute), Kind: office.ActivitySignedIn, Text: message.SignedInNowAs("olivia.office@example.com")},
		{Time: officetest.Now.Add(-11 * time.Minute), Kind: office.ActivitySignedOut, Text: message.SignedOut()}}
	b := newBench(t, o)
	var says []string
	for _, r := range b.screen.happened.rows {
		l := newLine()
		b.screen.showRow(r, l)
		says = append(says, l.when.Text+" "+l.title.Text+" "+l.below.Text)
	}
	screentest.Equal(t, "it says", says, []string{"14:02 Events are delivered to this computer. Signed in as olivia.office@example.com", "13:51 Signed out. "})
}

func TestTheDiaryKeepsItsPlace(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.happened.list.Select(0)
	b.Office.Change(office.ActivityChanged, func(o *officetest.Office) {
		o.Happened = append([]office.Activity{{Time: officetest.Now, Kind: "event", Text: message.SomeoneSigned("Lease")}}, o.Happened...)
	})
	b.Reload()
	if b.screen.happened.list.At() != 1 {
		t.Errorf("chosen is row %d, want 1", b.screen.happened.list.At())
	}
	b.screen.happened.list.OnEnter()
	if len(b.Went) != 1 || b.Went[0] != "package p3" {
		t.Errorf("shown %v", b.Went)
	}
}

func TestWhatCannotBeReadIsNotShownAsNothing(t *testing.T) {
	o := officetest.Busy()
	o.Unread = message.Error(message.DataDamagedNow(), nil)
	b := newBench(t, o)
	for range 2 {
		if got := screentest.Text(b.screen.body); !strings.Contains(got, "data file is damaged") {
			t.Errorf("the screen says %q", got)
		}
		b.screen.ShowEvents()
	}
	b.screen.Export("events.csv", (&sheet{room: 1 << 20}).fill)
	b.Settle()
	if want := "Not all events could be read, so “events.csv” was not written."; len(b.Notices) != 1 || b.Notices[0] != want {
		t.Errorf("said %q", b.Notices)
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.Unread = nil })
	b.Reload()
	if len(b.screen.events.rows) == 0 || strings.Contains(screentest.Text(b.screen.body), "damaged") {
		t.Errorf("the screen says %q", screentest.Text(b.screen.body))
	}
}

// The service told only later when it was withdrawn, and the package shows that time, too.
func TestAWithdrawalIsNoProblemAndHasOneTime(t *testing.T) {
	o := officetest.Busy()
	at := office.When{Time: officetest.Now.Add(-time.Minute)}
	o.Change(office.PackagesChanged, func(o *officetest.Office) {
		for i := range o.Rows {
			if p := &o.Rows[i].Package; p.ID == "p3" {
				p.State, p.Executed = office.PackageRescinded, office.When{}
				p.History = append(slices.Clone(p.History), office.HistoryEntry{What: office.EntryEnded, Time: at})
			}
		}
	})
	o.Happened = []office.Activity{
		{Time: officetest.Now, Happened: office.When{Time: officetest.Now, By: true}, Kind: office.ActivityWithdrawn, PackageID: "p3", Text: message.Withdrew("olivia", "Mandate Keller")},
		{Time: officetest.Now, Kind: office.ActivityProblem, PackageID: "p3", Text: message.NotWithdrawn("Mandate Keller")}}
	r := newBench(t, o).screen.happened.rows[0]
	_, below := r.says()
	screentest.Equal(t, "it says", below, "Withdrawn by olivia · “Mandate Keller” was not withdrawn.")
	screentest.Equal(t, "its mark", r.mark(), theme.MarkEnded)
	screentest.Equal(t, "when", r.last().When(), at)
}

// TestWhatIsMendedIsNoProblemAnyMore has a file that was changed, and saved again under another name.
func TestWhatIsMendedIsNoProblemAnyMore(t *testing.T) {
	saved := func(name string) office.Activity {
		return office.Activity{Time: officetest.Now, Kind: office.ActivitySaved, PackageID: "p3", Text: message.FileSaved(name, "Signed")}
	}
	o := officetest.Busy()
	changed := office.Activity{Time: officetest.Now, Kind: office.ActivityProblem, PackageID: "p3", Text: message.NotWithdrawn("Mandate Keller")}
	o.Happened = []office.Activity{saved("a (2).pdf"), changed, saved("b.pdf"), saved("a.pdf")}
	b := newBench(t, o)
	r := b.screen.happened.rows[0]
	_, below := r.says()
	screentest.Equal(t, "it says", below, "2 files saved · 1 saved again · “Mandate Keller” was not withdrawn.")
	screentest.Equal(t, "its mark", r.mark(), theme.MarkSaved)
	r.mended = false
	screentest.Equal(t, "its mark while it stands", r.mark(), theme.MarkProblem)
}
