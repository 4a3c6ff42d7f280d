package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

// downloadExecuted is GET /packages/{packageId}/documents/{documentId}/pdf/executed/download.
func (s *Server) downloadExecuted(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, d, err := s.executedDocument(r, who)
	if err != nil {
		return nil, err
	}
	path := s.executedPath(d.DocumentID)
	if err := s.ensureFor(p, path, func() error { return s.writeExecuted(p, d) }); err != nil {
		return nil, err
	}
	return nil, serveFile(w, r, path, d.Name+".pdf", s.pad.bytes.Load())
}

// downloadCAC is GET /packages/{packageId}/documents/{documentId}/pdf/cac/download.
func (s *Server) downloadCAC(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, d, err := s.executedDocument(r, who)
	if err != nil {
		return nil, err
	}
	path := s.cacPath(d.DocumentID)
	if err := s.ensureFor(p, path, func() error { return s.writeCAC(p, d) }); err != nil {
		return nil, err
	}
	return nil, serveFile(w, r, path, d.Name+" - CAC.pdf", 0)
}

// downloadMasterFile is GET /masterfiles/{packageId}/pdf/download.
func (s *Server) downloadMasterFile(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, err := s.visiblePack(r.PathValue("packageId"), who)
	if err != nil {
		return nil, err
	}
	if p.State != stateExecuted {
		return nil, badRequest("package_not_executed", "The package is not signed by everyone yet.")
	}
	path := s.masterPath(p.PackageID)
	if err := s.ensureFor(&p.pack, path, func() error { return s.writeMaster(&p.pack) }); err != nil {
		return nil, err
	}
	return nil, serveFile(w, r, path, p.Name+" - MasterFile.pdf", 0)
}

func (s *Server) executedDocument(r *http.Request, who caller) (*pack, *document, error) {
	p, err := s.visiblePack(r.PathValue("packageId"), who)
	if err != nil {
		return nil, nil, err
	}
	d, ok := p.document(r.PathValue("documentId"))
	if !ok {
		return nil, nil, notFound("document")
	}
	if d.TimeExecuted == nil {
		return nil, nil, badRequest("document_not_executed", "The document is not signed by everyone yet.")
	}
	return &p.pack, d, nil
}

// ensureFor is ensure, one at a time for a package.
func (s *Server) ensureFor(p *pack, path string, build func() error) error {
	lock := s.locks.of(p.PackageID)
	lock.Lock()
	defer lock.Unlock()
	return ensure(path, build)
}

// serveFile answers with a PDF, whole or in ranges, padded to a size if that is larger.
func serveFile(w http.ResponseWriter, r *http.Request, path, name string, padTo int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a signed document: %w", err)
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("opening a signed document: %w", err)
	}
	content := io.ReadSeeker(f)
	if padTo > info.Size() {
		if content, err = padded(f, info.Size(), padTo); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Disposition", attachment(name))
	h.Set("Cache-Control", "private, no-store")
	http.ServeContent(w, r, "", info.ModTime(), content)
	return nil
}

// attachment names a download for every browser: plain letters, and the whole name beside it (RFC 6266).
func attachment(name string) string {
	plain := bytes.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7E || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, []byte(name))
	return mime.FormatMediaType("attachment", map[string]string{"filename": string(plain)}) +
		"; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// padding is the size to which executed downloads are padded; 0 leaves them as they are.
type padding struct{ bytes atomic.Int64 }

// PadDownloads makes every executed download at least this large, still a PDF that opens; 0 ends it. The bytes are
// made while they are sent.
func (s *Server) PadDownloads(size int64) { s.pad.bytes.Store(max(0, size)) }

// padded is the PDF in f, comments up to the wanted size, and the end of the PDF once more, because readers look for
// the cross-reference from the end of the file.
func padded(f io.ReaderAt, size, want int64) (io.ReadSeeker, error) {
	end := make([]byte, min(size, 1024))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the end of a PDF: %w", err)
	}
	tail := []byte("\n%%EOF\n")
	if i := bytes.LastIndex(end, []byte("startxref")); i >= 0 {
		tail = append([]byte("\n"), end[i:]...)
	}
	want = max(want, size+int64(len(tail)))
	return io.NewSectionReader(&filled{f: f, size: size, tail: tail, total: want}, 0, want), nil
}

// filled is the bytes of a padded PDF by their position.
type filled struct {
	f     io.ReaderAt
	size  int64
	tail  []byte
	total int64
}

// ReadAt implements io.ReaderAt.
func (p *filled) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) && off < p.total {
		var got int
		switch tailAt := p.total - int64(len(p.tail)); {
		case off < p.size:
			var err error
			got, err = p.f.ReadAt(b[n:min(len(b), n+int(min(p.size-off, int64(len(b)))))], off)
			if got == 0 {
				return n, err
			}
		case off < tailAt:
			fill := filler()
			room := b[n : n+int(min(tailAt-off, int64(len(b)-n)))]
			got = copy(room, fill[(off-p.size)%int64(len(fill)):])
		default:
			got = copy(b[n:], p.tail[off-tailAt:])
		}
		n, off = n+got, off+int64(got)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// filler is lines of comment, no two of them alike, so that a shifted copy does not look right. It is whole periods
// of the filling, long enough to copy from at any position.
var filler = sync.OnceValue(func() []byte {
	block := make([]byte, 0, 80*26*32)
	for len(block) < cap(block) {
		n := len(block) / 80
		block = append(block, "\n%"...)
		for i := range 78 {
			block = append(block, 'a'+byte((n+i)%26))
		}
	}
	return block
})
