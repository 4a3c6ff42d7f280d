package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The three kinds of PDF that signing gives (interface.md, downloads). They follow from the state alone, so one that
// is missing is made again.

func (s *Server) executedPath(documentID string) string {
	return filepath.Join(s.dir, "signed", documentID+".executed.pdf")
}

func (s *Server) cacPath(documentID string) string {
	return filepath.Join(s.dir, "signed", documentID+".cac.pdf")
}

func (s *Server) masterPath(packageID string) string {
	return filepath.Join(s.dir, "signed", packageID+".master.pdf")
}

// writeExecuted makes the executed PDF of a document: the uploaded pages and a signature page. What pdfcpu cannot
// join is attached to the signature page, and what is too large for that is passed on as it came: whatever was
// uploaded, the document is executed.
func (s *Server) writeExecuted(p *pack, d *document) error {
	original := s.filePath(d.FileID)
	page, err := s.signaturePage(p, d, nil)
	if err != nil || d.Size > maxParsed {
		return copyFile(s.executedPath(d.DocumentID), original)
	}
	in, err := os.ReadFile(original)
	if err != nil {
		return fmt.Errorf("reading the pages of %q: %w", d.Name, err)
	}
	joined, err := s.press.Join(in, page)
	if err != nil {
		s.log.Info("pages could not be joined", "document", d.DocumentID, "error", err)
		joined, err = s.signaturePage(p, d, in)
	}
	if err != nil {
		joined = in
	}
	return writeFile(s.executedPath(d.DocumentID), joined)
}

func (s *Server) writeCAC(p *pack, d *document) error {
	page, err := s.certificate(p, d)
	if err != nil {
		return err
	}
	return writeFile(s.cacPath(d.DocumentID), page)
}

// writeMaster joins a cover and all executed documents, leaving out what cannot be joined.
func (s *Server) writeMaster(p *pack) error {
	all, err := s.cover(p)
	if err != nil {
		return err
	}
	for i := range p.Documents {
		d := &p.Documents[i]
		path := s.executedPath(d.DocumentID)
		if err := ensure(path, func() error { return s.writeExecuted(p, d) }); err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || info.Size() > maxParsed {
			continue
		}
		part, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading the executed %q: %w", d.Name, err)
		}
		if longer, err := s.press.Join(all, part); err == nil {
			all = longer
		}
	}
	return writeFile(s.masterPath(p.PackageID), all)
}

// ensure calls build unless the file is there.
func ensure(path string, build func() error) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return build()
	}
	return err
}

// writeFile makes a file appear whole or not at all.
func writeFile(path string, data []byte) error {
	if err := os.WriteFile(path+".part", data, 0o600); err != nil {
		return fmt.Errorf("writing a signed document: %w", err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("writing a signed document: %w", err)
	}
	return nil
}

func copyFile(target, source string) error {
	in, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("copying a document: %w", err)
	}
	defer in.Close() // only read
	out, err := os.Create(target + ".part")
	if err != nil {
		return fmt.Errorf("copying a document: %w", err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(target+".part", target)
	}
	if err != nil {
		return fmt.Errorf("copying a document: %w", err)
	}
	return nil
}
