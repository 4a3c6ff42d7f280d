package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"countersign/internal/sandbox/press"
)

// maxParsed is the size up to which PDFs are read as a whole. Larger ones are only copied: memory stays flat.
const maxParsed = 32 << 20

// inspection is what one pass over an uploaded file shows.
type inspection struct {
	size      int64
	isPDF     bool // %PDF- within the first KiB
	complete  bool // has the start of a cross-reference near its end: not cut off
	protected bool // needs a password to be opened
	pages     int  // 0 when they cannot be counted
}

// saveAndInspect writes body to a file, looking at it as it passes.
func (s *Server) saveAndInspect(target string, body io.Reader) (look inspection, err error) {
	out, err := os.OpenFile(target, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return look, fmt.Errorf("storing an upload: %w", err)
	}
	w := &watcher{}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(out, w)}, struct{ io.Reader }{body}, make([]byte, 128<<10))
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return look, fmt.Errorf("storing an upload: %w", err)
	}
	if err != nil {
		return look, badRequest("file_invalid_body", "The upload broke off.")
	}
	look.size = w.size
	look.isPDF = bytes.Contains(w.head, []byte("%PDF-"))
	look.complete = bytes.Contains(w.tail, []byte("startxref"))
	if !look.isPDF || !look.complete || look.size > maxParsed {
		look.protected = look.isPDF && w.encrypted
		return look, nil
	}
	document, err := os.ReadFile(target)
	if err != nil {
		return look, fmt.Errorf("reading an upload: %w", err)
	}
	look.pages, err = s.press.Pages(document)
	// Many encrypted files open for everyone and only restrict what may be done with them.
	look.protected = w.encrypted && errors.Is(err, press.ErrProtected)
	return look, nil
}

// watcher keeps the first and the last KiB of what passes and looks for an encryption dictionary.
type watcher struct {
	size       int64
	head, tail []byte
	encrypted  bool
}

const watched = 1024

var encryptEntry = regexp.MustCompile(`/Encrypt[^A-Za-z]`)

func (w *watcher) Write(p []byte) (int, error) {
	w.size += int64(len(p))
	if room := watched - len(w.head); room > 0 {
		w.head = append(w.head, p[:min(room, len(p))]...)
	}
	if !w.encrypted {
		const word = len("/Encrypt ")
		seam := append(slices.Clone(w.tail[max(0, len(w.tail)-word):]), p[:min(len(p), word)]...)
		w.encrypted = encryptEntry.Match(seam) || encryptEntry.Match(p)
	}
	if len(p) >= watched {
		w.tail = append(w.tail[:0], p[len(p)-watched:]...)
	} else {
		w.tail = append(w.tail, p...)
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-watched):]...)
	}
	return len(p), nil
}

// convertible reports whether the service makes a PDF of files with this name.
func convertible(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".docx", ".doc", ".odt", ".rtf", ".txt", ".md", ".html", ".htm", ".xlsx", ".xls", ".ods", ".csv",
		".pptx", ".ppt", ".odp", ".png", ".jpg", ".jpeg", ".tif", ".tiff":
		return true
	}
	return false
}
