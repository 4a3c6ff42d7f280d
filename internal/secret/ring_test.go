package secret

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"countersign/internal/trytest"
)

// fakeEntry is a keyring entry whose answers the test controls.
type fakeEntry struct {
	text   string
	writes int
	onGet  func()
	onSet  func()
	err    error
}

func (f *fakeEntry) get() (string, error) {
	if f.onGet != nil {
		f.onGet()
	}
	switch {
	case f.err != nil:
		return "", f.err
	case f.text == "":
		return "", keyring.ErrNotFound
	}
	return f.text, nil
}

func (f *fakeEntry) set(text string) error {
	if f.onSet != nil {
		f.onSet()
	}
	f.text = text
	f.writes++
	return nil
}

func (f *fakeEntry) remove() error {
	if f.onGet != nil {
		f.onGet()
	}
	if f.err == nil && f.text == "" {
		return keyring.ErrNotFound
	}
	if f.err == nil {
		f.text = ""
	}
	return f.err
}

func always() error { return nil }

func reasonOf(err error) Reason {
	var u *UnavailableError
	if !errors.As(err, &u) {
		return ""
	}
	return u.Reason
}

func TestARingKeepsTheContract(t *testing.T) {
	e := &fakeEntry{}
	testKeeper(t, func() Keeper { return newRing(e, always, ringTimeout) })
}

func TestAKeyIsForgottenOnceAndForAll(t *testing.T) {
	e := &fakeEntry{text: newKey().text()}
	r := newRing(e, always, ringTimeout)
	noErr(t, r.forget(t.Context()))
	if _, err := r.Load(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Errorf("then Load = %v", err)
	}
	noErr(t, r.forget(t.Context())) // there is none
	e.err = errors.New("no")
	if err := r.forget(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a keyring that refuses: %v", err)
	}
}

func TestARingThatHangsTimesOutAndItsLateAnswerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := &fakeEntry{text: newKey().text(), onGet: func() { <-release }}
		r := newRing(e, always, ringTimeout)
		for range 5 { // more than the number of slots
			start := time.Now()
			if k, err := r.Load(t.Context()); reasonOf(err) != TimedOut || k != (Key{}) {
				t.Fatalf("Load = %v", err)
			}
			if took := time.Since(start); took != ringTimeout {
				t.Fatalf("took %v", took)
			}
		}
		_, err := r.Load(t.Context())
		var u *UnavailableError
		if !errors.As(err, &u) || u.Answered == nil {
			t.Fatalf("Load = %v, and nothing to wait for", err)
		}
		select {
		case <-u.Answered:
			t.Fatal("it was answered before the person did")
		default:
		}
		close(release) // as if the person had answered the prompt
		<-u.Answered
		if _, err := r.Load(t.Context()); err != nil {
			t.Fatalf("Load after the prompt was answered: %v", err)
		}
	})
}

func TestACancelledLoadReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRing(&fakeEntry{onGet: func() { <-release }}, always, ringTimeout)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := r.Load(ctx); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Load = %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
		close(release)
	})
}

func TestACreateThatNobodyWaitsForDoesNotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := &fakeEntry{onGet: func() { <-release }}
		r := newRing(e, always, ringTimeout)
		if _, err := r.Create(t.Context()); reasonOf(err) != TimedOut {
			t.Fatalf("Create = %v", err)
		}
		close(release)
		synctest.Wait()
		if e.writes != 0 {
			t.Error("a key was written after Create had given up")
		}
	})
}

func TestALateWriteNeverReplacesTheKeyOfALaterCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := &fakeEntry{onSet: func() { <-release }}
		r := newRing(e, always, ringTimeout)
		if _, err := r.Create(t.Context()); reasonOf(err) != TimedOut {
			t.Fatalf("Create = %v", err)
		}
		// The write still hangs. A second Create must not start another one.
		if _, err := r.Create(t.Context()); reasonOf(err) != TimedOut {
			t.Fatalf("second Create = %v", err)
		}
		close(release)
		synctest.Wait()
		first := must(r.Load(t.Context()))
		if _, err := r.Create(t.Context()); !errors.Is(err, ErrPresent) {
			t.Errorf("third Create = %v, want ErrPresent", err)
		}
		if now, err := r.Load(t.Context()); err != nil || now != first || e.writes != 1 {
			t.Errorf("the key changed, or was written %d times: %v", e.writes, err)
		}
	})
}

func TestAnEntryThatIsNotAKeyIsUnavailableAndNeverReplaced(t *testing.T) {
	e := &fakeEntry{text: "hunter2"}
	r := newRing(e, always, ringTimeout)
	for _, err := range []error{second(r.Load(t.Context())), second(r.Create(t.Context()))} {
		if reasonOf(err) != Malformed || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
	if e.text != "hunter2" {
		t.Error("the entry was replaced")
	}
}

func TestACreateThatIsNotKeptIsNotTrusted(t *testing.T) {
	forgetful := &fakeEntry{}
	forgetful.onGet = func() { forgetful.text = "" }
	if _, err := newRing(forgetful, always, ringTimeout).Create(t.Context()); reasonOf(err) != NotKept {
		t.Errorf("%v, want NotKept", err)
	}
	other := &fakeEntry{}
	other.onGet = func() {
		if other.writes > 0 {
			other.text = newKey().text()
		}
	}
	if _, err := newRing(other, always, ringTimeout).Create(t.Context()); reasonOf(err) != Conflict {
		t.Errorf("%v, want Conflict", err)
	}
}

func TestAPanicInTheKeyringLibraryIsUnavailable(t *testing.T) {
	e := &fakeEntry{onGet: func() { panic("interface conversion") }}
	if _, err := newRing(e, always, ringTimeout).Load(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestAnUnreachableKeyringIsNotCalled(t *testing.T) {
	e := &fakeEntry{onGet: func() { t.Error("called") }}
	r := newRing(e, func() error { return errors.New("dbus: none") }, ringTimeout)
	for _, err := range []error{second(r.Load(t.Context())), second(r.Create(t.Context()))} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
}

func TestEveryReasonIsOnePlainSentence(t *testing.T) {
	for _, reason := range []Reason{Locked, NoBus, NoService, TimedOut, Malformed, Unreadable, TooOpen, Refused, NotKept, Conflict} {
		s := (&UnavailableError{Reason: reason, Path: "/etc/key", err: errors.New("org.freedesktop.DBus.Error.Failed")}).Message().String()
		if !strings.HasSuffix(s, ".") || strings.Contains(s, "freedesktop") || strings.Contains(s, "\n") {
			t.Errorf("%s: %q", reason, s)
		}
	}
}

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }
