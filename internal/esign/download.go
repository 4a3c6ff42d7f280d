package esign

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"countersign/internal/message"
	"countersign/internal/office"
)

// Download is a file being downloaded. The caller closes Body.
type Download struct {
	Body   io.ReadCloser // its errors are *Error; a truncated file is one
	Length int64         // bytes of Body, -1 if the service did not say. It does not prove that the file is complete
}

var errPart = errors.New("the answer is a part of the file")

// Download starts to download a file; documentID is ignored for a master file. NotReady means to ask again later. NotFound
// is worth a few more attempts, since it is not known how the service answers for a file it has not made yet. A web page or
// JSON is an error even with status 200; the caller checks that anything else is a PDF.
func (c *Client) Download(ctx context.Context, kind office.FileKind, packageID, documentID string) (*Download, error) {
	k := &call{
		op:     fmt.Sprintf("downloading the %s file of document %s in package %s", kind, cleanMessage(documentID), cleanMessage(packageID)),
		route:  "download/" + string(kind),
		method: http.MethodGet,
		accept: "application/pdf, */*;q=0.5",

		redirect: redirectToStorage,
	}
	p, err := id(k.op, message.PackageIDUnusable(), packageID)
	if err != nil {
		return nil, err
	}
	switch kind {
	case office.FileMaster:
		k.path = "/masterfiles/" + p + "/pdf/download"
	case office.FileSigned, office.FileCertificate:
		d, err := id(k.op, message.DocumentIDUnusable(), documentID)
		if err != nil {
			return nil, err
		}
		k.path = "/packages/" + p + "/documents/" + d + "/pdf/" + string(kind) + "/download"
	default:
		return nil, invalid(k.op, message.NoSuchKindOfFile())
	}

	res, err := c.do(ctx, k)
	if err != nil {
		return nil, downloadError(kind, err)
	}
	d, err := readDownload(k.op, res)
	if err != nil {
		res.Body.Close()
	}
	return d, err
}

// readDownload returns the file that an answer carries, or an error.
func readDownload(op string, res *http.Response) (*Download, error) {
	if res.StatusCode == http.StatusPartialContent || res.Header.Get("Content-Range") != "" { // no range was requested
		return nil, &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode, err: errPart}
	}
	buffered := bufio.NewReaderSize(res.Body, 4<<10) // only for the first bytes: large reads bypass it
	if err := checkBeginning(op, res, buffered); err != nil {
		return nil, err
	}
	body := &downloadBody{buffered: buffered, closer: res.Body, op: op}
	return &Download{Body: body, Length: res.ContentLength}, nil
}

// checkBeginning checks the first bytes: is it a file at all?
func checkBeginning(op string, res *http.Response, body *bufio.Reader) error {
	head, err := body.Peek(512)
	if err != nil && err != io.EOF {
		return noAnswer(op, err)
	}
	start := bytes.TrimLeft(trimBOM(head), " \t\r\n")
	declared := mediaType(res.Header)
	switch {
	case bytes.HasPrefix(start, []byte("%PDF-")):
		return nil // whatever its Content-Type
	case len(start) == 0, res.StatusCode != http.StatusOK: // 202, 204: accepted, but nothing there yet
		return &Error{Op: op, Kind: NotReady, Status: res.StatusCode}
	case start[0] == '{' || start[0] == '[' || declared == "application/json":
		return jsonInsteadOfFile(op, res, body)
	case start[0] == '<' || declared == "text/html":
		return &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
	}
	return nil
}

// jsonInsteadOfFile interprets a 200 that carries an error, or says that the file does not exist yet.
func jsonInsteadOfFile(op string, res *http.Response, body io.Reader) error {
	answer, err := io.ReadAll(io.LimitReader(body, maxError))
	if err != nil {
		return noAnswer(op, err)
	}
	e := &Error{Op: op, Kind: NotReady, Status: res.StatusCode}
	code, message, ok := serviceError(answer)
	if !ok {
		return e
	}
	e.Code, e.Said = cleanCode(code), cleanMessage(message)
	switch {
	case saysNotReady(code):
	case strings.HasSuffix(code, "_not_authorized"):
		e.Kind = Forbidden
	case strings.HasSuffix(code, "_not_found"):
		e.Kind = NotFound
	default:
		e.Kind = Refused
	}
	return e
}

// downloadError turns a refusal into NotReady where that is the more likely meaning. The document was in a status answer, so
// a 400 or 404 without a specific code mostly means that its file does not exist yet. So does any 404 for an additional file
// such as a certificate, which may not exist for every document.
func downloadError(kind office.FileKind, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	beside := kind != office.FileSigned && e.Status == http.StatusNotFound && e.Code != "package_not_found"
	telling := strings.HasSuffix(e.Code, "_not_found") && !beside || strings.HasSuffix(e.Code, "_not_authorized") ||
		strings.Contains(e.Code, "_invalid_") || strings.Contains(e.Code, "_feature_")
	switch {
	case saysNotReady(e.Code),
		e.Status == http.StatusConflict, e.Status == http.StatusTooEarly,
		(e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest) && !telling:
		later := *e
		later.Kind = NotReady
		return &later
	}
	return err
}

func saysNotReady(code string) bool {
	code = strings.ToLower(code)
	return slices.ContainsFunc(notReadyWords, func(word string) bool { return strings.Contains(code, word) })
}

// downloadBody turns read errors into those of this package. net/http itself reports a body that is shorter than declared.
type downloadBody struct {
	buffered *bufio.Reader
	closer   io.Closer
	op       string
}

func (b *downloadBody) Read(p []byte) (int, error) {
	n, err := b.buffered.Read(p)
	if err != nil && err != io.EOF {
		err = noAnswer(b.op, err)
	}
	return n, err
}

func (b *downloadBody) Close() error { return b.closer.Close() }
