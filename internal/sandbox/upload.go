package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/sandbox/press"
)

// uploadedFile is one entry of the answer to files/upload (service-facts.md section 3).
type uploadedFile struct {
	FileID              *string         `json:"fileId"`
	ExternalID          json.RawMessage `json:"externalId"`
	FileName            string          `json:"fileName"`
	IsInvalid           bool            `json:"isInvalid"`
	IsConverted         bool            `json:"isConverted"`
	IsNotSupported      bool            `json:"isNotSupported"`
	IsPasswordProtected bool            `json:"isPasswordProtected"`
	Error               *string         `json:"error"`
	Message             *string         `json:"message"`
	Type                string          `json:"type"`
}

// uploadFiles is POST /files/upload. Every part with a file name is a file; it is written to disk as it arrives.
func (s *Server) uploadFiles(_ http.ResponseWriter, r *http.Request, who caller) (any, error) {
	if !who.canUsePackages() {
		return nil, forbidden("file_not_authorized", "The organization or member scope is needed.")
	}
	query := r.URL.Query()
	if t := query.Get("type"); t != "" && t != "temporary" {
		return nil, badRequest("file_invalid_type", "The type must be temporary.")
	}
	var externalID json.RawMessage
	if query.Has("externalId") {
		externalID, _ = json.Marshal(query.Get("externalId")) // a string always encodes
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, badRequest("file_invalid_content_type", "The body must be multipart/form-data.")
	}
	files := []uploadedFile{}
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badRequest("file_invalid_body", "The upload broke off.")
		}
		name, isFile, err := fileName(part.Header.Get("Content-Disposition"))
		if err != nil {
			return nil, badRequest("file_invalid_name", "The file name cannot be read.")
		}
		if !isFile {
			continue
		}
		f, err := s.receive(part, file{FileName: name, ExternalID: externalID, MemberID: who.MemberID})
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, badRequest("file_upload_no_files", "The request has no file.")
	}
	if s.opt.Bare {
		return bareUpload(files[0], s.opt.Now()), nil
	}
	return map[string]any{"files": files}, nil
}

// fileName reads filename or filename* (RFC 5987). A name is only a label here: it never becomes a path.
func fileName(disposition string) (name string, isFile bool, err error) {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return "", false, err
	}
	name, isFile = params["filename"]
	if !isFile {
		return "", false, nil
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		return "", true, errors.New("empty file name")
	}
	return name, true, nil
}

// receive stores one part and examines it. Problems of the file are reported in the answer, not as an error.
func (s *Server) receive(body io.Reader, f file) (uploadedFile, error) {
	f.FileID, f.TimeCreated = newID(), s.opt.Now()
	answer := uploadedFile{ExternalID: orNull(f.ExternalID), FileName: f.FileName, Type: "temporary"}
	target := s.filePath(f.FileID)
	temp := target + ".part"
	defer os.Remove(temp) // already renamed on success
	look, err := s.saveAndInspect(temp, body)
	if err != nil {
		return answer, err
	}
	refuse := func(flag *bool, code, message string) (uploadedFile, error) {
		*flag, answer.Error, answer.Message = true, &code, &message
		return answer, nil
	}
	switch {
	case look.isPDF && look.protected:
		return refuse(&answer.IsPasswordProtected, "file_invalid_password", "The file is protected by a password")
	case look.isPDF && !look.complete:
		return refuse(&answer.IsInvalid, "file_invalid_pdf", "The PDF is not complete")
	case look.isPDF:
		f.Pages = look.pages
	case look.size == 0, strings.EqualFold(path.Ext(f.FileName), ".pdf"):
		return refuse(&answer.IsInvalid, "file_invalid_pdf", "PDF header not found")
	case !convertible(f.FileName):
		return refuse(&answer.IsNotSupported, "file_invalid_format", "Files of this kind cannot be converted to PDF")
	default:
		page, err := s.convertedPage(f.FileName, look.size, f.TimeCreated)
		if err != nil {
			return answer, fmt.Errorf("converting a file: %w", err)
		}
		if err := os.WriteFile(temp, page, 0o600); err != nil {
			return answer, fmt.Errorf("storing a converted file: %w", err)
		}
		look.size, f.Pages, f.Converted = int64(len(page)), 1, true
	}
	f.Size, answer.IsConverted, answer.FileID = look.size, f.Converted, &f.FileID
	if err := os.Rename(temp, target); err != nil {
		return answer, fmt.Errorf("storing a file: %w", err)
	}
	err = s.db.Update(func(tx *bolt.Tx) error { return put(tx, bucketFiles, f.FileID, f) })
	return answer, err
}

// maxParsed is the size up to which PDFs are read as a whole. Larger ones are only copied, to keep memory constant.
const maxParsed = 32 << 20

// inspection is the result of examining an uploaded file.
type inspection struct {
	size      int64
	isPDF     bool // %PDF- within the first KiB
	complete  bool // has the start of a cross-reference near its end, so it is not truncated
	protected bool // needs a password; not checked for large files
	pages     int  // 0 when they cannot be counted
}

// saveAndInspect writes body to a file and examines it.
func (s *Server) saveAndInspect(target string, body io.Reader) (look inspection, err error) {
	out, err := os.OpenFile(target, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return look, fmt.Errorf("storing an upload: %w", err)
	}
	defer out.Close() // errors that matter were checked before
	look.size, err = io.Copy(out, body)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return look, fmt.Errorf("storing an upload: %w", err)
	}
	if err != nil {
		return look, badRequest("file_invalid_body", "The upload broke off.")
	}
	const near = 1024
	end := make([]byte, min(look.size, near))
	head := make([]byte, len(end))
	_, err1 := out.ReadAt(head, 0)
	_, err2 := out.ReadAt(end, look.size-int64(len(end)))
	if err := errors.Join(err1, err2); err != nil {
		return look, fmt.Errorf("reading an upload: %w", err)
	}
	look.isPDF = bytes.Contains(head, []byte("%PDF-"))
	look.complete = bytes.Contains(end, []byte("startxref"))
	if !look.isPDF || !look.complete || look.size > maxParsed {
		return look, nil
	}
	document, err := os.ReadFile(target)
	if err != nil {
		return look, fmt.Errorf("reading an upload: %w", err)
	}
	look.pages, err = s.press.Pages(document)
	look.protected = errors.Is(err, press.ErrProtected)
	return look, nil
}

// convertible reports whether the service converts files with this extension to PDF.
func convertible(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".docx", ".doc", ".odt", ".rtf", ".txt", ".md", ".html", ".htm", ".xlsx", ".xls", ".ods", ".csv",
		".pptx", ".ppt", ".odp", ".png", ".jpg", ".jpeg", ".tif", ".tiff":
		return true
	}
	return false
}

// bareUpload is the other documented shape: one bare object. A file with a problem still carries its flags.
func bareUpload(f uploadedFile, now time.Time) any {
	bare := map[string]any{"fileId": f.FileID, "name": f.FileName, "fileName": f.FileName, "type": f.Type, "timeCreated": stamp(now)}
	if f.FileID == nil {
		bare["isInvalid"], bare["isNotSupported"], bare["isPasswordProtected"] = f.IsInvalid, f.IsNotSupported, f.IsPasswordProtected
		bare["error"], bare["message"] = f.Error, f.Message
	}
	return bare
}

func (s *Server) filePath(id string) string { return filepath.Join(s.dir, "files", id+".pdf") }

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// stamp is an ISO 8601 UTC time stamp with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// shelf caches all packages in memory as last committed, because lists are requested all the time. Packages in it are
// read-only: to change a package, read a copy from the database. It may be used from any goroutine.
type shelf struct {
	mu   sync.Mutex
	all  []*pack // newest first; a new list each time it changes
	byID map[string]*pack
}

func (s *Server) loadShelf() error {
	s.shelf.byID = map[string]*pack{}
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketPackages, func(id string, p pack) error {
			s.shelf.all = append(s.shelf.all, &p)
			s.shelf.byID[id] = &p
			return nil
		})
	})
	slices.SortFunc(s.shelf.all, newestFirst)
	return err
}

// putPack stores a package, which must not be changed afterwards, and puts it into the shelf once that is committed.
func (s *Server) putPack(tx *bolt.Tx, p *pack) error {
	tx.OnCommit(func() {
		s.shelf.mu.Lock()
		defer s.shelf.mu.Unlock()
		all := slices.Clone(s.shelf.all)
		at, known := slices.BinarySearchFunc(all, p, newestFirst)
		if !known {
			all = slices.Insert(all, at, p)
		}
		all[at] = p
		s.shelf.all, s.shelf.byID[p.PackageID] = all, p
	})
	return put(tx, bucketPackages, p.PackageID, p)
}

// packs are all packages, newest first. The list and its packages are shared, see shelf.
func (s *Server) packs() []*pack {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.all
}

// pack is the package with that id, nil for none. It is shared, see shelf.
func (s *Server) pack(id string) *pack {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.byID[id]
}

// tell returns view's result for a package in the shelf, cached: it can only change with the package's state over time, and
// programs ask all the time.
func tell[T any](s *Server, p *pack, kind string, view func(*pack) T) T {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	kind += " " + p.stateAt(s.opt.Now())
	said, ok := p.said[kind].(T)
	if !ok {
		if p.said == nil {
			p.said = map[string]any{}
		}
		said = view(p)
		p.said[kind] = said
	}
	return said
}

// encoded is view's result as JSON.
func encoded(view func(*pack) object) func(*pack) json.RawMessage {
	return func(p *pack) json.RawMessage {
		raw, _ := json.Marshal(view(p)) // always encodes
		return raw
	}
}

func newestFirst(a, b *pack) int {
	return cmp.Or(b.TimeCreated.Compare(a.TimeCreated), strings.Compare(a.PackageID, b.PackageID))
}
