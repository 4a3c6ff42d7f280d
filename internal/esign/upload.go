package esign

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"countersign/internal/message"
)

// Upload is a file to send (service-facts.md, 3).
type Upload struct {
	FileName   string // without a folder
	Size       int64  // bytes; the file must have exactly this size
	SHA256     string // hex; the file must match it; empty accepts any file of that size
	ExternalID string // may be empty

	// Open returns the file from its beginning; it may be called more than once.
	Open func() (io.ReadCloser, error)
	// Progress is called with the number of bytes of the file sent so far, from the sending goroutine, which may outlive
	// Upload by a moment; after a retry it starts over. May be nil.
	Progress func(sent int64)
}

// FileProblem says why a file cannot be used.
type FileProblem string

const (
	FileInvalid     FileProblem = "invalid"            // damaged, or not what its extension says
	FileUnsupported FileProblem = "not supported"      // a format that the service does not accept
	FileProtected   FileProblem = "password protected" // cannot be opened without a password
	FileRejected    FileProblem = "rejected"           // for the reason in Said, if there is one
	FileTooLarge    FileProblem = "too large"          // for the service
	FileChanged     FileProblem = "changed"            // while it was being sent
	FileUnreadable  FileProblem = "unreadable"         // on this computer
	FileEmpty       FileProblem = "empty"              // has no bytes
)

// FileError means that a file cannot be sent as it is; trying again does not help.
type FileError struct {
	FileName string
	Problem  FileProblem
	Said     string // the service's words, may be empty

	err error
}

func (e *FileError) Error() string {
	if e.err != nil {
		return fmt.Sprintf("sending %q: the file is %s: %v", e.FileName, e.Problem, e.err)
	}
	return fmt.Sprintf("sending %q: the file is %s", e.FileName, e.Problem)
}

// Unwrap returns the error of Upload.Open or of reading the file.
func (e *FileError) Unwrap() error { return e.err }

func (e *FileError) Message() message.Message {
	switch e.Problem {
	case FileProtected:
		return message.FileProtected(e.FileName)
	case FileUnsupported:
		return message.FileUnsupported(e.FileName)
	case FileTooLarge:
		return message.FileTooLarge(e.FileName)
	case FileChanged:
		return message.FileChangedMeanwhile(e.FileName)
	case FileUnreadable:
		return message.FileUnreadable(e.FileName)
	case FileEmpty:
		return message.FileEmpty(e.FileName)
	}
	if e.Said != "" {
		return message.FileRejectedBecause(e.FileName, e.Said)
	}
	return message.FileRejected(e.FileName)
}

const uploadRoute = "files/upload"

var errChanged = errors.New("it is not what it was")

// Upload sends a file in constant memory and returns its fileId, which expires after 24 hours unless a package uses it. If
// the service cannot use the file, the error is a *FileError.
func (c *Client) Upload(ctx context.Context, u Upload) (fileID string, err error) {
	k := &call{op: fmt.Sprintf("sending the file %q", u.FileName), route: uploadRoute, method: http.MethodPost, path: "/files/upload", slow: true}
	if u.Size <= 0 {
		return "", &FileError{FileName: u.FileName, Problem: FileEmpty}
	}
	if u.ExternalID != "" {
		k.query = url.Values{uploadExternalIDParam: {u.ExternalID}}
	}
	form := newForm(u)
	k.open, k.length, k.contentType = form.open, form.length(), "multipart/form-data; boundary="+form.boundary
	body, err := c.answer(ctx, k)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusRequestEntityTooLarge {
		return "", &FileError{FileName: u.FileName, Problem: FileTooLarge}
	}
	if err != nil {
		return "", err
	}
	return readUpload(k, u.FileName, body)
}

type uploadRecord struct {
	FileID              text            `json:"fileId"`
	IsInvalid           flag            `json:"isInvalid"`
	IsNotSupported      flag            `json:"isNotSupported"`
	IsPasswordProtected flag            `json:"isPasswordProtected"`
	Error               json.RawMessage `json:"error"`
	Message             text            `json:"message"`
}

// noError are the forms of an error that is not set.
var noError = []string{"", "null", "false", `""`, "{}", "[]"}

// readUpload accepts all three shapes of the answer: {"files":[...]}, an object, an array (service-facts.md, 3). A 200 may
// report a file that failed.
func readUpload(k *call, name string, body []byte) (fileID string, err error) {
	var files list[uploadRecord]
	if json.Unmarshal(unwrap(body, "files", "file"), &files) != nil || len(files) != 1 {
		return "", k.unreadable()
	}
	f := files[0]
	var said text
	_ = json.Unmarshal(f.Error, &said) // anything may be set
	failed := &FileError{FileName: name, Said: cleanMessage(cmp.Or(string(f.Message), string(said)))}
	switch {
	case bool(f.IsPasswordProtected):
		failed.Problem = FileProtected
	case bool(f.IsNotSupported):
		failed.Problem = FileUnsupported
	case bool(f.IsInvalid):
		failed.Problem = FileInvalid
	case !slices.Contains(noError, string(f.Error)):
		failed.Problem = FileRejected
	case f.FileID == "":
		return "", k.unreadable()
	default:
		return string(f.FileID), nil
	}
	return "", failed
}

// form is a multipart body with one file; its length is known in advance.
type form struct {
	upload   Upload
	boundary string
	header   string
	footer   string
}

func newForm(u Upload) *form {
	boundary := "countersign-" + rand.Text()
	kind := "application/octet-stream"
	if strings.EqualFold(path.Ext(u.FileName), ".pdf") {
		kind = "application/pdf"
	}
	return &form{
		upload:   u,
		boundary: boundary,
		header: fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=\"%s\"; %s\r\nContent-Type: %s\r\n\r\n",
			boundary, uploadPartName, fileNameParam(u.FileName), kind),
		footer: "\r\n--" + boundary + "--\r\n",
	}
}

func (f *form) length() int64 { return int64(len(f.header)) + f.upload.Size + int64(len(f.footer)) }

func (f *form) open() (io.ReadCloser, error) {
	file, err := f.upload.Open()
	if err != nil {
		return nil, &FileError{FileName: f.upload.FileName, Problem: FileUnreadable, err: err}
	}
	exact := &exactReader{file: file, upload: f.upload, sum: sha256.New()}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(f.header), exact, strings.NewReader(f.footer)), file}, nil
}

// exactReader reads a file that must be exactly as expected, and reports progress. If it is not, it withholds the end of the
// body, so that the service gets a truncated request.
type exactReader struct {
	file   io.Reader
	upload Upload
	sum    hash.Hash
	sent   int64
}

func (r *exactReader) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	r.sent += int64(n)
	r.sum.Write(p[:n])
	switch {
	case r.sent > r.upload.Size, err == io.EOF && !r.whole():
		return 0, &FileError{FileName: r.upload.FileName, Problem: FileChanged, err: errChanged}
	case err != nil && err != io.EOF:
		return 0, &FileError{FileName: r.upload.FileName, Problem: FileUnreadable, err: err}
	}
	if n > 0 && r.upload.Progress != nil {
		r.upload.Progress(r.sent)
	}
	return n, err
}

func (r *exactReader) whole() bool {
	sum := r.upload.SHA256
	return r.sent == r.upload.Size && (sum == "" || strings.EqualFold(sum, hex.EncodeToString(r.sum.Sum(nil))))
}

// fileNameParam is filename="..." for plain names and RFC 5987's filename* for all others, as service-facts.md, 3 demands:
// no quotes, percent-encoded UTF-8, nothing after it.
func fileNameParam(name string) string {
	plain := func(r rune) bool { return r >= ' ' && r <= '~' && r != '"' && r != '\\' && r != '%' }
	if strings.ToValidUTF8(name, "") == name && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return `filename="` + name + `"`
	}
	return "filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(strings.ToValidUTF8(name, "_")), "+", "%20")
}
