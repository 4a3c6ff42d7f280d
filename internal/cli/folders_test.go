package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestFoldersThatSendAreAddedChangedAndRemoved(t *testing.T) {
	s := newShell(t)
	dir := filepath.Join(t.TempDir(), "Scans")
	list := func(args ...string) []listedFolder {
		t.Helper()
		code, stdout, stderr := s.run(append(args, "--json")...)
		if code != 0 {
			t.Fatalf("%v: %d %s", args, code, stderr)
		}
		var printed folderList
		must(t, json.Unmarshal([]byte(stdout), &printed))
		return printed.Folders
	}
	if rows := list("folders"); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	list("folders", "add", dir, "--to", "Ana Ruiz <ana@example.com>")
	rows := list("folders", "add", dir, "--to", "Jan Weber <jan@example.com>", "--ask", "--due-days", "14")
	if len(rows) != 1 || rows[0].Path != dir || !rows[0].Ask || rows[0].DueDays != 14 || rows[0].Signers[0].LastName != "Weber" {
		t.Fatalf("%+v", rows)
	}
	if _, stdout, _ := s.run("folders", "list"); !strings.Contains(stdout, dir+": asks first, to Jan Weber") {
		t.Error(stdout)
	}
	if code, _, stderr := s.run("folders", "add", filepath.Join(dir, "Sent"), "--to", "ana@example.com"); code != 1 || !strings.Contains(stderr, "already sends") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := s.run("folders", "remove", t.TempDir()); code != 1 || !strings.Contains(stderr, "is not a folder that sends") {
		t.Errorf("%d %s", code, stderr)
	}
	if rows := list("folders", "remove", rows[0].ID); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
}
