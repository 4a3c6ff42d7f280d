package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"countersign/internal/office"
)

const crashEnv = "COUNTERSIGN_TEST_CRASH"

// runUntilKilled is the child of TestWhatWasAcknowledgedSurvivesKill: eight writers store events and print the number
// of each once Update has returned.
func runUntilKilled(path string) {
	s, err := Open(path, Options{})
	if err != nil {
		fmt.Println("open", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				err := s.Update(func(tx *Tx) error {
					if _, err := tx.AddEvent(office.Event{ID: id, Body: []byte(strings.Repeat("b", 300))}); err != nil {
						return err
					}
					_, err := tx.PlanJob(office.Job{PackageID: id, Kind: "executed", Folder: "/f", Target: id + ".pdf"})
					return err
				})
				if err != nil {
					fmt.Println("update", err)
					os.Exit(1)
				}
				fmt.Println("ok", id) // one write to the pipe
			}
		})
	}
	wg.Wait()
}

func TestWhatWasAcknowledgedSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	rng := rand.New(rand.NewPCG(1, 2))
	acknowledged := map[string]bool{}
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		killChildAfter(t, path, 1+rng.IntN(200), acknowledged)
	}
	s := openTest(t, path)
	view(t, s, func(tx *Tx) error {
		for id := range acknowledged {
			if _, ok, err := tx.Event(id); err != nil || !ok {
				t.Errorf("event %s is lost: %v", id, err)
			}
			if _, ok, err := tx.Job(office.Job{PackageID: id, Kind: "executed"}.Key()); err != nil || !ok {
				t.Errorf("job of %s is lost: %v", id, err)
			}
		}
		return nil
	})
	recount(t, s)
	t.Logf("%d acknowledged updates over %d kills", len(acknowledged), rounds)
}

// killChildAfter runs a child until it has acknowledged n updates, kills it with nothing said, and adds what it had
// acknowledged.
func killChildAfter(t *testing.T, path string, n int, acknowledged map[string]bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for count := 0; lines.Scan(); count++ {
		id, ok := strings.CutPrefix(lines.Text(), "ok ")
		if !ok {
			t.Errorf("child: %s", strconv.Quote(lines.Text()))
			break
		}
		acknowledged[id] = true
		if count == n {
			_ = cmd.Process.Kill() // what it printed before it died still comes
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
