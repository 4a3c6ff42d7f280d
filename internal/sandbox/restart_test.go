package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	rc := newReceiver(t, nil)
	r := start(t, quick(Options{Dir: dir}, rc))
	v := r.signIn(adminMail, allScopes)
	r.register(rc.URL + "/hook")
	r.s.Hold()
	p := r.add("concurrent", 1, "Ana")
	must(t, r.s.SignAll(p.PackageID))
	keys := r.do("GET", "/.well-known/jwks", "", nil).body
	if _, err := Start(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second service on the folder: %v", err)
	}
	must(t, r.s.Close())
	r2 := start(t, quick(Options{Dir: dir, Now: r.clock.Now}, rc))
	r2.token = r.token
	if !bytes.Equal(keys, r2.do("GET", "/.well-known/jwks", "", nil).body) {
		t.Error("another signing key")
	}
	wantStatus(t, r2.refresh(v["refresh_token"]), 200)
	a := r2.get("/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
	if pagesOf(t, a.body) != 2 {
		t.Error("the executed PDF is gone")
	}
	seen := map[any]bool{}
	for range 5 {
		seen[rc.next(t).event["action"]] = true
	}
	if !seen["package_executed"] || !seen["document_signed"] || !seen["package_add"] {
		t.Errorf("after the restart came %v", seen)
	}
	must(t, os.Remove(filepath.Join(dir, "signed", p.Documents[0].DocumentID+".executed.pdf")))
	again := r2.get("/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
	if pagesOf(t, again.body) != 2 {
		t.Error("a lost PDF is not made again")
	}
}

func TestTemporaryFolderGoesAway(t *testing.T) {
	r := start(t, Options{})
	must(t, r.s.Close())
	if _, err := os.Stat(r.s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

const victimDir = "SANDBOX_TEST_VICTIM_DIR"

// TestVictim is the process that TestKillLeavesWholeState kills: it adds and signs packages until it dies.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victimDir)
	if dir == "" {
		t.Skip("runs as the child of TestKillLeavesWholeState")
	}
	r := start(t, Options{Dir: dir})
	r.signIn(adminMail, allScopes)
	for {
		p := r.add("concurrent", 1, "Ana")
		must(t, r.s.SignAll(p.PackageID))
		fmt.Println(p.PackageID)
	}
}

func TestKillLeavesWholeState(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	victim.Env = append(os.Environ(), victimDir+"="+dir)
	out, err := victim.StdoutPipe()
	must(t, err)
	must(t, victim.Start())
	var executed []string
	for lines := bufio.NewScanner(out); len(executed) < 3 && lines.Scan(); {
		executed = append(executed, lines.Text())
	}
	must(t, victim.Process.Kill())
	_ = victim.Wait() // killed: always an error
	if len(executed) < 3 {
		t.Fatalf("the victim ended by itself after %v", executed)
	}
	r := start(t, Options{Dir: dir})
	r.signIn(adminMail, allScopes)
	for _, id := range executed {
		p := r.find(id)
		a := r.get("/packages/" + id + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download")
		if p.State != "executed" || pagesOf(t, a.body) != 2 {
			t.Errorf("package %s is %s", id, p.State)
		}
	}
}
