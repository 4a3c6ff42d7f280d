package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

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
		if err := r.s.SignAll(p.PackageID); err != nil {
			t.Fatal(err)
		}
		fmt.Println(p.PackageID)
	}
}

func TestKillLeavesWholeState(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	victim.Env = append(os.Environ(), victimDir+"="+dir)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var executed []string
	for lines := bufio.NewScanner(out); len(executed) < 3 && lines.Scan(); {
		executed = append(executed, lines.Text())
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
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
