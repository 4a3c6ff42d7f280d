package hotfolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
)

// textEnding is added to the name of a file for that of the text about it.
const textEnding = ".txt"

// explain writes beside a file that was not sent why that is so. A text that is there is the one.
func (r *Room) explain(in office.Intake) (err error) {
	path := r.fileOf(in, in.At+textEnding)
	if taken(path) {
		return nil
	}
	words := r.needs.Words()
	lines := []string{words.Text(message.FileNotSent(in.Name)), words.Text(in.Problem), words.Text(message.FileBackIn(filepath.Base(in.Path)))}
	end := "\n"
	if runtime.GOOS == "windows" {
		end = "\r\n"
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".countersign-*")
	if err != nil {
		return &folderError{folderTrouble(in.Path, err)}
	}
	if _, err := temp.WriteString(strings.Join(lines, end+end) + end); err != nil {
		return errors.Join(&folderError{folderTrouble(in.Path, err)}, temp.Close(), os.Remove(temp.Name()))
	}
	_ = temp.Chmod(0o644) // CreateTemp makes files that only their owner reads
	if err := disk.Create(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return &folderError{folderTrouble(in.Path, err)}
	}
	r.Record(office.Activity{Kind: "problem", Text: message.Then(message.FileNotSent(in.Name), in.Problem)})
	return nil
}
