package hotfolder

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

func TestPeopleAreToldOnceOfEverythingInALotThatIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		files int
		title message.Message
		body  message.Message
	}{
		"one":  {1, message.FileNotSent("scan 00.mov"), message.FileType("scan 00.mov")},
		"many": {12, message.FilesNotSent(12, "Scans"), message.FilesInProblems()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				f := d.folder()
				for n := range c.files {
					write(t, filepath.Join(f.Path, fmt.Sprintf("scan %02d.mov", n)), []byte("film"))
				}
				write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
				d.looks()
				d.restart()
				d.looks()
				if len(d.facts) != 1 || d.facts[0].Title != c.title || d.facts[0].Body != c.body || d.facts[0].About() != office.HotFolderSubject(f.ID) {
					t.Errorf("told %+v", d.facts)
				}
				if !slices.Equal(d.owed, d.facts) {
					t.Errorf("a kill costs what was not owed: %+v", d.owed)
				}
				if left, err := d.intakes(); err != nil || len(left) != 1 {
					t.Errorf("on their way are %+v, %v", left, err)
				}
				d.tools.Data.Close()
			})
		})
	}
}

func TestWhatSeveralFoldersCouldNotSendIsOneNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for range 2 {
			write(t, filepath.Join(d.folder().Path, "film.mov"), []byte("film"))
		}
		d.looks()
		if len(d.facts) != 1 || d.facts[0].Title != message.FilesNotSentSomewhere(2) || d.facts[0].About() != office.ActivitySubject {
			t.Errorf("told %+v", d.facts)
		}
		d.tools.Data.Close()
	})
}

func TestEachRefusalIsToldAndExplainedAndNoneOfWhatAPersonTookBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		f := d.folder()
		write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
		d.looks()
		for n := 1; n <= 2; n++ {
			d.decide(func(x *office.Draft) { x.State, x.Problem = office.DraftFailed, message.MayNotSendDocuments() })
			d.looks()
			if len(d.facts) != n || !slices.Contains(files(t, f.Path), "Problems/Lease.pdf.txt") {
				t.Errorf("refused %d times: told %d times, there are %q", n, len(d.facts), files(t, f.Path))
			}
			d.decide(func(x *office.Draft) { x.State, x.Problem = office.DraftQueued, message.Message{} })
			d.looks()
		}
		d.decide(func(x *office.Draft) { x.State = office.DraftCancelled })
		d.looks()
		if len(d.facts) != 2 || !slices.Contains(files(t, f.Path), "Problems/Lease.pdf.txt") {
			t.Errorf("told %+v, there are %q", d.facts, files(t, f.Path))
		}
		d.tools.Data.Close()
	})
}

// A kill costs at most the notification that it interrupts, and no other: every point is a place at which the program can end.
func TestKilledAnywhereWhatIsNotSentIsOwedOnce(t *testing.T) {
	for _, point := range []string{"folder recorded", "folder moved", "folder explained"} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				f := d.folder()
				write(t, filepath.Join(f.Path, "film.mov"), []byte("film"))
				d.killedAt(point)
				d.looks()
				if len(d.owed) != 1 {
					t.Errorf("owed %+v", d.owed)
				}
				d.tools.Data.Close()
			})
		})
	}
}

func TestAFileThatIsWrittenAllDayKeepsNothingFromBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		log := filepath.Join(d.folder().Path, "scanner.log")
		write(t, filepath.Join(d.folder().Path, "film.mov"), []byte("film"))
		for n := range 60 {
			write(t, log, bytes.Repeat([]byte("line"), n+1))
			_, err := d.look(t.Context(), deaf{})
			noErr(t, err)
			time.Sleep(2 * time.Second)
		}
		if len(d.facts) != 1 {
			t.Errorf("told %+v", d.facts)
		}
		d.tools.Data.Close()
	})
}
