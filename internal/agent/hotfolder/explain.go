package hotfolder

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
)

// textEnding is added to the name of a file for that of the text about it.
const textEnding = ".txt"

// longestName is that of a file, in bytes: on no system fewer than in the units it counts.
const longestName = 255

// textOf is the path of the text about the file at path.
func textOf(at string) string {
	place, name := path.Split(at)
	if most := longestName - len(textEnding); len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return place + name + textEnding
}

// explain writes beside a file that was not sent why that is so. A text that is there is the one.
func (r *Service) explain(dir *disk.Dir, in office.Intake) error {
	text := textOf(in.At)
	if there, err := find(dir, &in, text); err != nil || there != nil {
		return err
	}
	words := r.deps.Words()
	lines := []string{words.Text(message.FileNotSent(in.Name)), words.Text(in.Problem), words.Text(message.FileBackIn(filepath.Base(in.Path)))}
	end := "\n"
	if runtime.GOOS == "windows" {
		end = "\r\n"
	}
	place, name, err := dir.Parent(text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a person has taken all of Problems away
	}
	if err != nil {
		return trouble(in.Path, err)
	}
	defer place.Close()
	if err := place.WriteNew(name, []byte(strings.Join(lines, end+end)+end), 0o644); err != nil && !errors.Is(err, fs.ErrExist) {
		return trouble(in.Path, err)
	}
	r.Record(office.Activity{Kind: "problem", Text: message.Then(message.FileNotSent(in.Name), in.Problem)})
	return nil
}
