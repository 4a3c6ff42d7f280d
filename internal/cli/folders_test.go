package cli

import (
	"encoding/json"
	"path/filepath"
	"reflect"
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
		noErr(t, json.Unmarshal([]byte(stdout), &printed))
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
	for _, c := range []struct {
		args []string
		want func(f *listedFolder)
	}{
		{[]string{"add", "--name", "Scan {date}"}, func(f *listedFolder) { f.Name = "Scan {date}" }},
		{[]string{"add", "--sequential", "--message", "Please sign."}, func(f *listedFolder) { f.Sequential, f.Message = true, "Please sign." }},
		{[]string{"add"}, func(*listedFolder) {}},
		{[]string{"add", "--to", "eva@example.com"}, func(f *listedFolder) { f.Signers = []folderSigner{{"eva", "", "eva@example.com"}} }},
		{[]string{"add", "--to", "Jan Weber <jan@example.com>"}, func(f *listedFolder) { f.Signers = []folderSigner{{"Jan", "Weber", "jan@example.com"}} }},
		{[]string{"pause"}, func(f *listedFolder) { f.Paused = true }},
		{[]string{"pause"}, func(*listedFolder) {}},
		{[]string{"add", "--no-sequential", "--due-days", "0"}, func(f *listedFolder) { f.Sequential, f.DueDays = false, 0 }},
		{[]string{"resume"}, func(f *listedFolder) { f.Paused = false }},
		{[]string{"add", "--message", "", "--due-days", "14"}, func(f *listedFolder) { f.Message, f.DueDays = "", 14 }},
	} {
		want := rows[0]
		c.want(&want)
		for _, name := range []string{dir, want.ID} {
			if c.args[0] == "add" {
				name = dir // an id names no folder to create
			}
			if rows = list(append([]string{"folders", c.args[0], name}, c.args[1:]...)...); len(rows) != 1 || !reflect.DeepEqual(rows[0], want) {
				t.Fatalf("%v changes more than is named: %+v, want %+v", c.args, rows, want)
			}
		}
	}
	for _, args := range [][]string{{"pause", t.TempDir()}, {"resume", "none"}} {
		if code, _, stderr := s.run(append([]string{"folders"}, args...)...); code != 1 || !strings.Contains(stderr, "is not a watched folder") {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	if code, _, stderr := s.run("folders", "add", filepath.Join(t.TempDir(), "new")); code != 1 || !strings.Contains(stderr, "signer") {
		t.Errorf("a new folder without a signer: %d %s", code, stderr)
	}
	if _, stdout, _ := s.run("folders", "list"); !strings.Contains(stdout, dir+": asks first, to Jan Weber") {
		t.Error(stdout)
	}
	if code, _, stderr := s.run("folders", "add", filepath.Join(dir, "Sent"), "--to", "ana@example.com"); code != 1 || !strings.Contains(stderr, "is already watched") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := s.run("folders", "remove", t.TempDir()); code != 1 || !strings.Contains(stderr, "is not a watched folder") {
		t.Errorf("%d %s", code, stderr)
	}
	if rows := list("folders", "remove", rows[0].ID); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
}
