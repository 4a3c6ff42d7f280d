package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/sandbox/press"
)

// The admin port: JSON over HTTP on a loopback address, for tests and for trying out failures. A POST may leave out
// its body. Every answer is 200 with JSON, or an error {"error","message"}. A body's fields are as in the Go types
// named here.
//
//	GET    /state                what there is: clients, endpoints (without secrets), counts
//	GET    /packages             every package with its signers, their turns and links
//	POST   /sign                 {"package_id", "signer_id"} one signer; without signer_id: everyone, to the end
//	POST   /decline              {"package_id", "signer_id", "reason"}
//	POST   /rescind              {"package_id", "message", "notify"} as the sender on the service's own pages
//	GET    /events               []Delivery: every event with its bytes and how it fared
//	POST   /events/hold          keep events back
//	POST   /events/release       {"order": "fifo" | "reverse" | "random"}
//	POST   /events/disturb       Disturbance: duplicate, reorder, delay; {} ends it
//	POST   /events/redeliver     {"event_id"} send it again
//	POST   /events/forge         Forgery: any event or bytes, signed or not; answers {"status"} of the receiver
//	GET    /faults               []Fault
//	POST   /faults               Fault; answers {"id"}
//	DELETE /faults, /faults/{id} remove all, or one
//	POST   /tokens/expire        every access token has expired
//	POST   /tokens/revoke        {"token"} one refresh token's family; {} all of them
//	POST   /endpoint/replace     {"client_id", "url"} as another computer of the office would, "" to delete; client_id may be left out
//	POST   /downloads/pad        {"bytes"} executed downloads are at least this large; 0 ends it
//	POST   /lists/habits         ListHabits: another order, short pages, items that move while pages are read; {} ends it
//	GET    /templates            every template
//	POST   /templates            Template: a new one, or another in the place of its id; answers {"id"}
//	DELETE /templates/{id}       delete it; packages made from it stay
//	GET    /requests             {"requests": []Request, "counts": per route}
//	DELETE /requests             forget them
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, fn func(w http.ResponseWriter, r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := fn(w, r)
			if err != nil {
				s.writeError(w, r, err)
				return
			}
			if answer == nil {
				answer = object{}
			}
			writeJSON(w, http.StatusOK, answer)
		})
	}
	handle("GET /state", s.adminState)
	handle("GET /packages", func(http.ResponseWriter, *http.Request) (any, error) { return s.Packages(), nil })
	handle("POST /sign", adminCall(s.adminSign))
	handle("POST /decline", adminCall(func(in adminSigner) error { return s.Decline(in.PackageID, in.SignerID, in.Reason) }))
	handle("POST /rescind", adminCall(func(in adminRescind) error { return s.Rescind(in.PackageID, in.Message, in.Notify) }))
	handle("GET /events", func(http.ResponseWriter, *http.Request) (any, error) { return s.Deliveries() })
	handle("POST /events/hold", func(http.ResponseWriter, *http.Request) (any, error) { s.Hold(); return nil, nil })
	handle("POST /events/release", adminCall(func(in struct{ Order string }) error { return s.Release(in.Order) }))
	handle("POST /events/disturb", adminCall(func(in Disturbance) error { s.Disturb(in); return nil }))
	handle("POST /events/redeliver", adminCall(func(in struct {
		EventID string `json:"event_id"`
	}) error {
		return s.Redeliver(in.EventID)
	}))
	handle("POST /events/forge", adminQuestion(func(r *http.Request, f Forgery) (any, error) {
		status, err := s.Forge(r.Context(), f)
		return object{"status": status}, err
	}))
	handle("GET /faults", func(http.ResponseWriter, *http.Request) (any, error) { return s.Faults(), nil })
	handle("POST /faults", adminQuestion(func(_ *http.Request, f Fault) (any, error) { return object{"id": s.Inject(f)}, nil }))
	handle("DELETE /faults", func(http.ResponseWriter, *http.Request) (any, error) { s.Heal(0); return nil, nil })
	handle("DELETE /faults/{id}", s.adminHeal)
	handle("POST /tokens/expire", adminCall(func(struct{}) error { return s.ExpireAccessTokens() }))
	handle("POST /tokens/revoke", adminCall(func(in struct{ Token string }) error { return s.RevokeRefreshTokens(in.Token) }))
	handle("POST /endpoint/replace", adminCall(func(in struct {
		ClientID string `json:"client_id"`
		URL      string `json:"url"`
	}) error {
		return s.ReplaceEndpoint(in.ClientID, in.URL)
	}))
	handle("POST /downloads/pad", adminCall(func(in struct{ Bytes int64 }) error { s.PadDownloads(in.Bytes); return nil }))
	handle("POST /lists/habits", adminCall(func(in ListHabits) error { s.SetListHabits(in); return nil }))
	handle("GET /templates", func(http.ResponseWriter, *http.Request) (any, error) { return s.templates() })
	handle("POST /templates", adminQuestion(func(_ *http.Request, in Template) (any, error) {
		id, err := s.PutTemplate(in)
		return object{"id": id}, err
	}))
	handle("DELETE /templates/{id}", func(_ http.ResponseWriter, r *http.Request) (any, error) {
		return nil, s.DeleteTemplate(r.PathValue("id"))
	})
	handle("GET /requests", func(http.ResponseWriter, *http.Request) (any, error) {
		requests, counts := s.Requests()
		return object{"requests": requests, "counts": counts}, nil
	})
	handle("DELETE /requests", func(http.ResponseWriter, *http.Request) (any, error) { s.requests.clear(); return nil, nil })
	return s.onlyPrograms(mux)
}

// onlyPrograms keeps web pages out: no page may act here because a browser on this machine can reach the port.
func (s *Server) onlyPrograms(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.workers.Add(1)
		defer s.workers.Done()
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); (ip == nil || !ip.IsLoopback()) && host != "localhost" || r.Header.Get("Origin") != "" {
			writeJSON(w, http.StatusForbidden, errorBody("admin_not_authorized", "The admin port is for programs on this machine."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// listenLoopback refuses to open the admin port to others.
func listenLoopback(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("opening the admin port %s: %w", address, err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("the admin port %s is not on a loopback address", address)
	}
	return l, nil
}

// adminQuestion is an operation that reads T and answers.
func adminQuestion[T any](fn func(r *http.Request, in T) (any, error)) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		var in T
		if err := readJSON(w, r, "admin", &in); err != nil {
			return nil, err
		}
		return fn(r, in)
	}
}

// adminCall is an operation that reads T and answers nothing.
func adminCall[T any](fn func(T) error) func(http.ResponseWriter, *http.Request) (any, error) {
	return adminQuestion(func(_ *http.Request, in T) (any, error) { return nil, fn(in) })
}

func (s *Server) adminState(http.ResponseWriter, *http.Request) (any, error) {
	endpoints, states := []object{}, map[string]int{}
	now := s.opt.Now()
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketEndpoints, func(_ string, e endpoint) error {
			endpoints = append(endpoints, object{
				"event_endpoint_id": e.EventEndpointID, "client_id": e.ClientID, "name": e.Name, "url": e.URL, "time_set": e.TimeSet,
			})
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	all, err := s.packs()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		states[p.stateAt(now)]++
	}
	clients := []object{}
	for _, c := range s.opt.Clients {
		clients = append(clients, object{"id": c.ID, "name": c.Name, "redirects": c.Redirects})
	}
	s.delivery.mu.Lock()
	defer s.delivery.mu.Unlock()
	return object{
		"url": s.url, "clients": clients, "users": s.opt.Users, "endpoints": endpoints, "packages": states,
		"events": object{"held": s.delivery.held, "waiting": len(s.delivery.queue), "disturbance": s.delivery.disturbance},
		"pad":    s.pad.bytes.Load(),
	}, nil
}

type adminSigner struct {
	PackageID string `json:"package_id"`
	SignerID  string `json:"signer_id"`
	Reason    string `json:"reason"`
}

type adminRescind struct {
	PackageID string `json:"package_id"`
	Message   string `json:"message"`
	Notify    bool   `json:"notify"`
}

func (s *Server) adminSign(in adminSigner) error {
	if in.SignerID != "" {
		return s.Sign(in.PackageID, in.SignerID)
	}
	return s.SignAll(in.PackageID)
}

func (s *Server) adminHeal(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || !slices.ContainsFunc(s.Faults(), func(f Fault) bool { return f.ID == id }) {
		return nil, notFound("fault")
	}
	s.Heal(id)
	return nil, nil
}

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

// playSigners has simulated signers sign what was just stored, Options.AutoSign after it became their turn. Storing their
// signatures comes back here for those who are next.
func (s *Server) playSigners(p *pack) {
	turns := p.turns(s.opt.Now())
	if s.opt.AutoSign <= 0 || len(turns) == 0 {
		return
	}
	id := p.PackageID
	s.workers.Go(func() {
		select {
		case <-time.After(s.opt.AutoSign):
		case <-s.ctx.Done():
			return
		}
		for _, signerID := range turns {
			p, err := read[pack](s.db, bucketPackages, id)
			if err != nil || !slices.Contains(p.turns(s.opt.Now()), signerID) {
				continue // somebody signed for them meanwhile
			}
			if err := s.Sign(id, signerID); err != nil {
				s.log.Warn("a simulated signer could not sign", "package", id, "error", err)
			}
		}
	})
}

// playAllSigners is playSigners for the packages that wait since the last stop.
func (s *Server) playAllSigners() error {
	return s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketPackages, func(_ string, p pack) error {
			s.playSigners(&p)
			return nil
		})
	})
}

// turns are the signers who can sign something now.
func (p *pack) turns(now time.Time) []string {
	var ids []string
	for _, sg := range p.Signers {
		if p.hasTurn(sg.SignerID, now) {
			ids = append(ids, sg.SignerID)
		}
	}
	return ids
}
