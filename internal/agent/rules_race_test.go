package agent

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/internal/office"
	"countersign/internal/policy"
)

// While the administrator's decisions change all the time, a person and a command each change a setting of their own.
func TestChangesAtTheSameInstantKeepEachOther(t *testing.T) {
	dir := t.TempDir()
	var reads atomic.Int64
	a := openWith(t, Params{Policy: func() policy.Policy { return *fixing(filepath.Join(dir, fmt.Sprint(reads.Add(1)%2))) }})
	noErr(t, a.obey(t.Context()))
	over := make(chan struct{})
	var ruling, changing sync.WaitGroup
	ruling.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				noErr(t, a.obey(t.Context()))
			}
		}
	})
	change := func(set func(*office.Settings, int), is func(office.Settings, int) bool) {
		for i := range 50 {
			_, err := a.ChangeSettings(t.Context(), func(s office.Settings) office.Settings {
				if i > 0 && !is(s, i-1) {
					t.Errorf("change %d was lost", i-1)
				}
				set(&s, i)
				return s
			}, office.Secrets{})
			if err != nil {
				t.Error(err)
			}
		}
	}
	changing.Go(func() {
		change(func(s *office.Settings, i int) { s.DueDays = i + 1 }, func(s office.Settings, i int) bool { return s.DueDays == i+1 })
	})
	changing.Go(func() {
		change(func(s *office.Settings, i int) { s.Index = i%2 == 0 }, func(s office.Settings, i int) bool { return s.Index == (i%2 == 0) })
	})
	changing.Wait()
	close(over)
	ruling.Wait()
}
