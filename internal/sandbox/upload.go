package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// uploadFiles is POST /files/upload. Every part that has a file name is a file; it goes to the disk as it arrives.
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
	if err := s.sweepFiles(); err != nil {
		s.log.Warn("removing old uploads failed", "error", err)
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

// receive stores one part and looks at it. What is wrong with the file is said in the answer, not as an error.
func (s *Server) receive(body io.Reader, f file) (uploadedFile, error) {
	f.FileID, f.TimeCreated = newID(), s.opt.Now()
	answer := uploadedFile{ExternalID: orNull(f.ExternalID), FileName: f.FileName, Type: "temporary"}
	target := s.filePath(f.FileID)
	temp := target + ".part"
	defer os.Remove(temp) // gone already when all went well
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

// bareUpload is the other documented shape: one bare object. A file with a problem carries its flags all the same.
func bareUpload(f uploadedFile, now time.Time) any {
	bare := map[string]any{"fileId": f.FileID, "name": f.FileName, "fileName": f.FileName, "type": f.Type, "timeCreated": stamp(now)}
	if f.FileID == nil {
		bare["isInvalid"], bare["isNotSupported"], bare["isPasswordProtected"] = f.IsInvalid, f.IsNotSupported, f.IsPasswordProtected
		bare["error"], bare["message"] = f.Error, f.Message
	}
	return bare
}

func (s *Server) filePath(id string) string { return filepath.Join(s.dir, "files", id+".pdf") }

// sweepFiles removes uploads that no package took in time. It looks at all of them, so at most once an hour.
func (s *Server) sweepFiles() error {
	now := s.opt.Now()
	last := s.swept.Load()
	if last != nil && now.Sub(*last) < time.Hour || !s.swept.CompareAndSwap(last, &now) {
		return nil
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		return sweep(tx, bucketFiles, func(f file) bool {
			if !f.expired(now) {
				return false
			}
			_ = os.Remove(s.filePath(f.FileID)) // a file left behind costs space, nothing else
			return true
		})
	})
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// stamp is an ISO 8601 UTC time stamp with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// shelf keeps the packages as they were read last: a busy year has thousands, and lists are asked for all day. What lies
// on it is read and never changed; whoever changes a package reads one of its own. It may be used from any goroutine.
type shelf struct {
	reading sync.Mutex // one reads what is written since, at a time
	whole   bool       // everything was read once
	all     []*shelved // newest first; a new one each time it changes
	byID    map[string]*shelved

	mu    sync.Mutex
	stale map[string]bool // ids of packages that were written since they were read
}

// shelved is a package and how tests look at it, nil as long as that goes with the time.
type shelved struct {
	pack
	view *Package

	mu   sync.Mutex
	said [kindsOfAnswer]said
}

// said is what was answered about a package in that state.
type said struct {
	state  string
	answer json.RawMessage
}

// The answers that tell of a package: what they say changes with the package, and with the state that the time gives it.
const (
	asItem = iota
	asStatus
	asRecord
	kindsOfAnswer
)

// answer is what view says of the package: it is put into words once, for programs ask all day.
func (p *shelved) answer(kind int, now time.Time, view func(*pack) object) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := &p.said[kind]
	if state := p.stateAt(now); last.answer == nil || last.state != state {
		answer, err := encoded(view(&p.pack))
		if err != nil {
			return nil, err
		}
		*last = said{state, bytes.TrimSuffix(answer, []byte("\n"))}
	}
	return last.answer, nil
}

// putPack stores a package, and has it read anew.
func (s *Server) putPack(tx *bolt.Tx, p *pack) error {
	id := p.PackageID
	tx.OnCommit(func() {
		s.shelf.mu.Lock()
		defer s.shelf.mu.Unlock()
		if s.shelf.stale == nil {
			s.shelf.stale = map[string]bool{}
		}
		s.shelf.stale[id] = true
	})
	return put(tx, bucketPackages, id, p)
}

// packs are all packages, newest first. The list and what is in it belong to the shelf.
func (s *Server) packs() ([]*shelved, error) {
	h := &s.shelf
	h.reading.Lock()
	defer h.reading.Unlock()
	h.mu.Lock()
	stale := h.stale // before the view: what is written after it is stale again
	h.stale = nil
	h.mu.Unlock()
	if h.whole && len(stale) == 0 {
		return h.all, nil
	}
	var read []*shelved
	err := s.db.View(func(tx *bolt.Tx) error {
		if !h.whole {
			return each(tx, bucketPackages, func(_ string, p pack) error {
				read = append(read, s.shelve(p))
				return nil
			})
		}
		for id := range stale {
			p, err := get[pack](tx, bucketPackages, id)
			if err != nil {
				return err
			}
			read = append(read, s.shelve(p))
		}
		return nil
	})
	if err != nil {
		h.whole = false
		return nil, err
	}
	if h.whole {
		h.all = slices.Clone(h.all)
		for _, p := range read {
			at, known := slices.BinarySearchFunc(h.all, p, byAge)
			if !known {
				h.all = slices.Insert(h.all, at, p)
			}
			h.all[at] = p
		}
	} else {
		h.all, h.whole, h.byID = read, true, map[string]*shelved{}
		slices.SortFunc(h.all, byAge)
	}
	for _, p := range read {
		h.byID[p.PackageID] = p
	}
	return h.all, nil
}

// pack is the package with that id, nil for none. It belongs to the shelf.
func (s *Server) pack(id string) (*shelved, error) {
	if _, err := s.packs(); err != nil {
		return nil, err
	}
	s.shelf.reading.Lock()
	defer s.shelf.reading.Unlock()
	return s.shelf.byID[id], nil
}

func byAge(a, b *shelved) int { return newestFirst(&a.pack, &b.pack) }

// shelve is p with how tests look at it, once that no longer goes with the time.
func (s *Server) shelve(p pack) *shelved {
	x := &shelved{pack: p}
	if p.State != stateOpen {
		view := s.controlView(&x.pack, s.opt.Now())
		x.view = &view
	}
	return x
}
