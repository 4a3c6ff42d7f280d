package compose

import (
	"errors"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/store"
	"countersign/ui/words"
)

// file is a document that was added. problem is set when it cannot be sent as it is.
type file struct {
	path    string
	size    int64
	problem string
}

func (f file) name() string { return filepath.Base(f.path) }

// inspect looks at paths that were chosen or dropped. It reads the disk, so it runs off the window's goroutine.
func inspect(paths []string) []file {
	var files []file
	for _, path := range paths {
		f := file{path: path}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			f.problem = lang.L("This file is no longer there.")
		case err != nil:
			f.problem = lang.L("This file cannot be read.")
		case info.IsDir():
			f.problem = lang.L("This is a folder. Add the files in it.")
		case info.Size() == 0:
			f.problem = lang.L("This file is empty.")
		default:
			f.size = info.Size()
		}
		files = append(files, f)
	}
	return files
}

// merge adds files that are not there yet, in the order they came. One that is there is looked at anew.
func merge(have, more []file) []file {
	for _, f := range more {
		if i := slices.IndexFunc(have, func(h file) bool { return h.path == f.path }); i >= 0 {
			have[i] = f
			continue
		}
		have = append(have, f)
	}
	return have
}

// proposedName makes a package name of the first file's: no ending, no underscores.
func proposedName(files []file) string {
	if len(files) == 0 {
		return ""
	}
	name := files[0].name()
	name = strings.TrimSuffix(name, filepath.Ext(name))
	return strings.Join(strings.Fields(strings.ReplaceAll(name, "_", " ")), " ")
}

// move swaps the entry at i with its neighbour by (-1 or +1), where there is one.
func move[T any](list []T, i, by int) {
	if j := i + by; j >= 0 && j < len(list) {
		list[i], list[j] = list[j], list[i]
	}
}

// wrong says what keeps a draft from being sent: a sentence for each field, empty where it is fine.
type wrong struct {
	files, signers, due, name string
	signer                    []string // one for each signer
}

func (w wrong) any() bool {
	return w.files+w.signers+w.due+w.name+strings.Join(w.signer, "") != ""
}

// check judges what was typed. due is the text of the date field beside its meaning.
func check(files []file, d agent.Draft, due string, now time.Time) wrong {
	w := wrong{signer: make([]string, len(d.Signers))}
	switch {
	case len(files) == 0:
		w.files = lang.L("Add at least one document.")
	case slices.ContainsFunc(files, func(f file) bool { return f.problem != "" }):
		w.files = lang.L("Remove or replace the marked document.")
	}
	if strings.TrimSpace(d.Name) == "" && len(files) > 0 {
		w.name = lang.L("Give the package a name.")
	}
	if len(d.Signers) == 0 {
		w.signers = lang.L("Add at least one person who signs.")
	}
	seen := map[string]bool{}
	for i, s := range d.Signers {
		mail := strings.ToLower(s.Email)
		switch {
		case s.FirstName == "" && s.LastName == "":
			w.signer[i] = lang.L("Type the name.")
		case s.Email == "":
			w.signer[i] = lang.L("Type the e-mail address.")
		case !isAddress(s.Email):
			w.signer[i] = lang.L("This is not an e-mail address.")
		case seen[mail]:
			w.signer[i] = lang.L("This address is there twice.")
		}
		seen[mail] = true
	}
	switch {
	case due != "" && d.Due.IsZero():
		w.due = lang.L("Write the date as 2026-12-31.")
	case !d.Due.IsZero() && !d.Due.After(now):
		w.due = lang.L("This day is over.")
	}
	return w
}

// isAddress accepts a plain address with a dot in its domain, no display name and no comment (RFC 5322, 3.4.1).
func isAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text {
		return false
	}
	_, domain, _ := strings.Cut(text, "@")
	return strings.Contains(strings.Trim(domain, "."), ".")
}

// parseDue reads the day in the office's zone; a due day ends when it is over.
func parseDue(text string, zone *time.Location) time.Time {
	day, err := time.ParseInLocation("2006-01-02", strings.TrimSpace(text), zone)
	if err != nil {
		return time.Time{}
	}
	return day.AddDate(0, 0, 1).Add(-time.Second)
}

// promise is the button's text: what pressing it will do.
func promise(files []file, signers []store.Signer) string {
	if len(files) == 0 || len(signers) == 0 {
		return lang.L("Send")
	}
	return lang.L("Send {{.Documents}} to {{.People}}", words.V{"Documents": words.Documents(len(files)), "People": words.People(len(signers))})
}

// percent is how much of a draft is on the service, from 0 to 1.
func percent(s agent.SendState) float64 {
	if s.Total <= 0 {
		return 0
	}
	return min(1, float64(s.Sent)/float64(s.Total))
}

// stage says in words where a draft is.
func stage(s agent.SendState) string {
	switch s.State {
	case store.DraftAdding:
		return lang.L("Handing the package over…")
	case store.DraftQueued:
		if s.Total > 0 {
			return fmt.Sprintf("%s %s / %s", lang.L("Uploading…"), words.Size(s.Sent), words.Size(s.Total))
		}
	}
	return lang.L("Preparing…")
}
