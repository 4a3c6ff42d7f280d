package hotfolder

import (
	"errors"
	"io/fs"
	"os"
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
func (r *Room) explain(in office.Intake) (err error) {
	text := r.fileOf(in, textOf(in.At))
	if taken(text) {
		return nil
	}
	words := r.needs.Words()
	lines := []string{words.Text(message.FileNotSent(in.Name)), words.Text(in.Problem), words.Text(message.FileBackIn(filepath.Base(in.Path)))}
	end := "\n"
	if runtime.GOOS == "windows" {
		end = "\r\n"
	}
	temp, err := os.CreateTemp(filepath.Dir(text), ".countersign-*")
	if err != nil {
		return &folderError{folderTrouble(in.Path, err)}
	}
	if _, err := temp.WriteString(strings.Join(lines, end+end) + end); err != nil {
		return errors.Join(&folderError{folderTrouble(in.Path, err)}, temp.Close(), os.Remove(temp.Name()))
	}
	_ = temp.Chmod(0o644) // CreateTemp makes files that only their owner reads
	if err := disk.Create(temp, text); err != nil && !errors.Is(err, fs.ErrExist) {
		return &folderError{folderTrouble(in.Path, err)}
	}
	r.Record(office.Activity{Kind: "problem", Text: message.Then(message.FileNotSent(in.Name), in.Problem)})
	return nil
}
