//go:build linux

package e2e

import (
	"encoding/csv"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestTheIndexListsEachFileOnce has the program killed between a line and its record, and the list erased.
func TestTheIndexListsEachFileOnce(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	o.Setup("--index")
	o.More = []string{"COUNTERSIGN_CRASH_AT=index written:1"}
	o.Serve()
	o.More = nil
	o.MustLogin()
	o.Registered()
	o.Must("send", harness.Sample(t, "Offer 2026-118"), "--name", "Offer", "--to", "Jan Weber <jan.weber@example.com>")
	o.Service.SignAll(o.Service.Named("Offer").ID)
	if code := o.Running.Wait(); code != -1 {
		t.Fatalf("the program ended by itself, with %d: %s", code, o.Running.Stderr)
	}
	o.Serve()
	listed(o, 3)
	harness.Must(t, os.Remove(filepath.Join(o.Folder, "index.csv")))
	o.Must("send", harness.Sample(t, "Mandate Keller"), "--name", "=Mandate", "--to", "Jan Weber <jan.weber@example.com>")
	o.Service.SignAll(o.Service.Named("=Mandate").ID)
	listed(o, 6)
}

// listed waits until the index lists n files, and checks that it lists each file in the folder with its sum.
func listed(o *harness.Office, n int) {
	o.T.Helper()
	var lines [][]string
	harness.Eventually(o.T, "all files are listed", func() bool {
		b, err := os.ReadFile(filepath.Join(o.Folder, "index.csv"))
		if err != nil {
			return false
		}
		lines, err = csv.NewReader(strings.NewReader(strings.TrimPrefix(string(b), "\ufeff"))).ReadAll()
		return err == nil && len(lines) > n
	})
	got := map[string]string{}
	for _, l := range lines[1:] {
		got[strings.TrimPrefix(l[6], "'")] = l[7]
		if strings.HasPrefix(l[1], "=") {
			o.T.Errorf("a formula: %q", l[1])
		}
	}
	if len(lines) != n+1 || len(got) != n {
		o.T.Errorf("%d lines about %d files, want %d: %q", len(lines)-1, len(got), n, lines)
	}
	for sum, file := range o.Contents() {
		if want := hex.EncodeToString(sum[:]); !strings.HasSuffix(file, "index.csv") && got[file] != want {
			o.T.Errorf("%s is listed with %q, not %s", file, got[file], want)
		}
	}
}
