package agent

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}

// What a person has pressed is stored as pressed: a program that ends while it can still be undone sends it at its next start.
func TestWhatWasPressedIsSentByTheNextStart(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	pressed := func(undo time.Duration) string {
		ctx, end := context.WithCancel(t.Context())
		d := o.draft()
		d.Undo = undo
		id := make(chan string, 1)
		go o.Send(ctx, d, func(s office.SendState) {
			if s.Undo {
				select {
				case id <- s.DraftID:
				default:
				}
			}
		})
		defer end()
		return <-id
	}
	id := pressed(time.Minute)
	if held := o.Drafts(); len(held) != 1 || held[0].State != office.DraftHeld || o.Status().Packages.Total != 0 {
		t.Fatalf("while it can be undone there is %+v", held)
	}
	if inTime, err := o.Cancel(id); err != nil || !inTime || len(o.Drafts()) != 0 {
		t.Errorf("undone: %v, %v, %d left", inTime, err, len(o.Drafts()))
	}
	pressed(300 * time.Millisecond)
	o.restart()
	o.eventually("it is sent", func() bool { return len(o.service.Packages()) == 1 && len(o.Drafts()) == 0 })
}

// A draft that waits for a person is neither sent nor lost with the program.
func TestAHeldDraftIsNeitherSentNorLost(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	id, err := o.Hold(o.draft())
	noErr(t, err)
	o.restart()
	if held := o.Drafts(); len(held) != 1 || held[0].ID != id || held[0].State != office.DraftHeld || o.Status().Packages.Total != 0 {
		t.Fatalf("after a restart there is %+v", held)
	}
	sent := o.draft()
	sent.Replaces = []string{id}
	if state, err := o.Send(t.Context(), sent, nil); err != nil || state.State != office.DraftSent {
		t.Fatalf("%+v, %v", state, err)
	}
	if left := o.Drafts(); len(left) != 0 {
		t.Errorf("what is sent is still held: %+v", left)
	}
	id, err = o.Hold(o.draft())
	noErr(t, err)
	if inTime, err := o.Cancel(id); err != nil || !inTime || len(o.Drafts()) != 0 {
		t.Errorf("taken back: %v, %v, %d left", inTime, err, len(o.Drafts()))
	}
}

func TestWhatIsHeldGoesOutAsItWas(t *testing.T) {
	for name, send := range map[string]func(o *testOffice, d office.NewPackage, held string) error{
		"at once": func(o *testOffice, _ office.NewPackage, held string) error { return o.Resolve(held, true) },
		"after a while": func(o *testOffice, _ office.NewPackage, held string) error {
			return o.Decide(held, true, 100*time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keeping(t, nil)
			d := o.draft()
			given := mustRead(t, d.Files[0])
			held, err := o.Hold(d)
			noErr(t, err)
			noErr(t, os.WriteFile(d.Files[0], bytes.Replace(given, []byte("%PDF-1."), []byte("%PDF-2."), 1), 0o600))
			o.restart()
			noErr(t, send(o, d, held))
			o.eventually("it is sent", func() bool { return len(o.service.Packages()) == 1 })
			if got := o.uploaded(); len(got) != 1 || !bytes.Equal(got[0], given) {
				t.Error("other bytes went out")
			}
			o.eventually("the copy is gone", func() bool { return len(o.kept()) == 0 })
		})
	}
}

// Cancelling is taken back as easily: what was taken from the queue is there, as it was, until a person decides.
func TestWhatIsStoppedInTheQueueCanBeSentAfterAll(t *testing.T) {
	for name, c := range map[string]struct {
		send bool
		want int
	}{"sent after all": {true, 1}, "discarded": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keeping(t, nil)
			d := o.draft()
			given := mustRead(t, d.Files[0])
			if err := o.SignOut(t.Context()); o.Status().SignedIn { // so that it waits
				t.Fatal(err)
			}
			d.Patience = time.Nanosecond
			state, err := o.Send(t.Context(), d, nil)
			if err == nil || state.DraftID == "" {
				t.Fatalf("%+v, %v", state, err)
			}
			noErr(t, os.Remove(d.Files[0]))
			if inTime, err := o.Stop(state.DraftID); err != nil || !inTime {
				t.Fatalf("stopped: %v, %v", inTime, err)
			}
			o.restart()
			if held := o.Drafts(); len(held) != 1 || held[0].State != office.DraftHeld || !held[0].Stopped {
				t.Fatalf("after a restart there is %+v", held)
			}
			noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
			if n := len(o.service.Packages()); n != 0 {
				t.Fatalf("%d packages are sent all the same", n)
			}
			noErr(t, o.Resolve(state.DraftID, c.send))
			o.eventually("the copy is gone", func() bool { return len(o.kept()) == 0 })
			if got := o.uploaded(); len(got) != c.want || c.send && !bytes.Equal(got[0], given) {
				t.Errorf("%d files went out, want %d, as they were given", len(got), c.want)
			}
		})
	}
}
