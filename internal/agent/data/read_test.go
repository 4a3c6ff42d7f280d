package data

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/store"
)

func TestAReadThatFailsIsToldOnceAndIsNeverAnEmptyList(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		state health.State // the zero State for none
		told  message.Message
	}{
		"one record":  {fmt.Errorf("a line: %w", store.ErrRecord), health.RecordsUnreadable, message.RecordNotRead()},
		"damage":      {&store.CorruptError{Path: "state.db", Reason: "a page is missing"}, health.DataDamaged, message.DataDamagedNow()},
		"another way": {errors.New("the map is gone"), health.DataNotRead, message.DataNotRead()},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			issues := health.New(time.Now, func() {})
			d, _, err := Open(filepath.Join(t.TempDir(), "state.db"), slog.New(slog.NewTextHandler(&log, nil)), time.Now, issues)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			for range 3 {
				list, err := Read(d, "the packages", func(*store.Tx) ([]string, error) { return []string{"half"}, c.cause })
				if m, ok := message.Of(err); !ok || m != c.told || list != nil || !errors.Is(err, c.cause) {
					t.Fatalf("%q, %v", list, err)
				}
				for _, i := range issues.List() {
					issues.Dismiss(i) // what somebody has read is not told again
				}
			}
			if got := strings.Count(log.String(), "the packages"); got != 1 {
				t.Errorf("logged %d times:\n%s", got, &log)
			}
			if !issues.Has(c.state) && c.state.Action != health.ActDismiss {
				t.Errorf("health: %+v", issues.List())
			}
		})
	}
}

func TestADocumentThatIsNotThereIsNoFailure(t *testing.T) {
	issues := health.New(time.Now, func() {})
	d, _, err := Open(filepath.Join(t.TempDir(), "state.db"), slog.New(slog.DiscardHandler), time.Now, issues)
	if err != nil {
		t.Fatal(err)
	}
	if got, known, err := Doc[string](d, "none"); got != "" || known || err != nil {
		t.Errorf("%q, %v, %v", got, known, err)
	}
	if err := d.Update(func(tx *store.Tx) error { return tx.PutDoc("name", "value") }); err != nil {
		t.Fatal(err)
	}
	if got, known, err := Doc[string](d, "name"); got != "value" || !known || err != nil {
		t.Errorf("%q, %v, %v", got, known, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err = Doc[string](d, "name")
	if m, ok := message.Of(err); !ok || m != message.Closing() || len(issues.List()) != 0 {
		t.Errorf("while it closes: %v, %+v", err, issues.List())
	}
}

func TestErrorsInEverOtherWordsAreNotKeptForEver(t *testing.T) {
	d, _, err := Open(filepath.Join(t.TempDir(), "state.db"), slog.New(slog.DiscardHandler), time.Now, health.New(time.Now, func() {}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i := range 3 * mostRemembered {
		if _, err := Read(d, "a package", func(*store.Tx) (int, error) { return 0, fmt.Errorf("at %d", i) }); err == nil {
			t.Fatal("it was read")
		}
	}
	if len(d.failed.texts) > mostRemembered {
		t.Errorf("%d texts are kept", len(d.failed.texts))
	}
	if latest, first := "at 2999", "at 0"; !d.failed.has("read a package: "+latest) || d.failed.has("read a package: "+first) {
		t.Error("those before are kept, not the latest")
	}
}

func TestMemoryNeverLeadsTheCommit(t *testing.T) {
	var k Kept[string]
	for _, c := range []struct {
		next string
		err  error
		want string
	}{{"kept", nil, "kept"}, {"lost", errors.New("the disk is full"), "kept"}} {
		err := k.Change(func(now string) (string, error) { return c.next, c.err })
		if got := k.Get(); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q after %q, %v", got, c.next, err)
		}
	}
}
