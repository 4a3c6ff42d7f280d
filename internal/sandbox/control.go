package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Package is a package for tests to inspect.
type Package struct {
	PackageID string     `json:"package_id"`
	Name      string     `json:"name"`
	State     string     `json:"state"`
	Due       time.Time  `json:"due,omitzero"`
	Notified  []string   `json:"notified"` // for each notification of its people, the state at the time
	Documents []Document `json:"documents"`
	Signers   []Signer   `json:"signers"`

	Recipients []Recipient `json:"recipients"`
}

// Recipient is a person who gets a copy of a Package. Type is CC or BCC.
type Recipient struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Type  string `json:"type"`
}

type Document struct {
	DocumentID string `json:"document_id"`
	Name       string `json:"name"`
	Executed   bool   `json:"executed"`
}

// Signer is a signer of a Package. Page is where this signer signs.
type Signer struct {
	SignerID string `json:"signer_id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Turn     bool   `json:"turn"`
	Signed   bool   `json:"signed"` // has signed every document
	Declined bool   `json:"declined"`
	Page     string `json:"page"`
}

// Packages returns all packages, oldest first, in their current state. They are shared and must not be changed.
func (s *Server) Packages() []Package {
	all := s.packs()
	out := make([]Package, 0, len(all))
	for _, p := range slices.Backward(all) {
		out = append(out, tell(s, p, "control", s.controlView))
	}
	return out
}

// controlView is p for tests to inspect.
func (s *Server) controlView(p *pack) Package {
	now := s.opt.Now()
	v := Package{PackageID: p.PackageID, Name: p.Name, State: p.stateAt(now), Notified: append([]string{}, p.Notified...), Documents: []Document{}, Signers: []Signer{}, Recipients: []Recipient{}}
	if p.TimeSignBy != nil {
		v.Due = *p.TimeSignBy
	}
	for _, d := range p.Documents {
		v.Documents = append(v.Documents, Document{d.DocumentID, d.Name, d.TimeExecuted != nil})
	}
	for j := range p.Signers {
		sg := &p.Signers[j]
		v.Signers = append(v.Signers, Signer{
			SignerID: sg.SignerID, Name: sg.fullName(), Email: sg.Email,
			Turn: p.hasTurn(sg.SignerID, now), Signed: p.signedBy(sg.SignerID), Declined: sg.TimeDeclined != nil, Page: s.linkURL(sg.LinkToken),
		})
	}
	for _, r := range p.Recipients {
		v.Recipients = append(v.Recipients, Recipient{strings.TrimSpace(r.FirstName + " " + r.LastName), r.Email, r.Type})
	}
	return v
}

// SignAll signs for all signers in turn until nobody has anything left to sign.
func (s *Server) SignAll(packageID string) error {
	for {
		p := s.pack(packageID)
		if p == nil {
			return notFound("package")
		}
		turns := p.turns(s.opt.Now())
		if len(turns) == 0 {
			return nil
		}
		if err := s.Sign(packageID, turns[0]); err != nil {
			return err
		}
	}
}

// Replace makes the service deliver another PDF instead of each signed document of a package.
func (s *Server) Replace(packageID string, pdf []byte) error {
	p := s.pack(packageID)
	if p == nil {
		return notFound("package")
	}
	lock := s.locks.of(packageID)
	lock.Lock()
	defer lock.Unlock()
	for _, d := range p.Documents {
		if err := writeFile(s.executedPath(d.DocumentID), pdf); err != nil {
			return err
		}
	}
	return nil
}

// Extend changes the date by which a package must be signed, as its sender can on the service's own pages: an expired
// package is open again.
func (s *Server) Extend(packageID string, by time.Time) error {
	return s.changePack(packageID, func(p *pack, _ time.Time) ([]event, error) {
		p.TimeSignBy = &by
		return nil, nil
	})
}

// ExpireAccessTokens makes all current access tokens expire.
func (s *Server) ExpireAccessTokens() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte(bucketAccess)); err != nil {
			return err
		}
		_, err := tx.CreateBucket([]byte(bucketAccess))
		return err
	})
}

// RevokeRefreshTokens revokes every family of tokens.
func (s *Server) RevokeRefreshTokens() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		var ids []string
		err := each(tx, bucketGrants, func(id string, _ grant) error {
			ids = append(ids, id)
			return nil
		})
		for _, id := range ids {
			err = errors.Join(err, revokeGrant(tx, id))
		}
		return err
	})
}

// ReplaceEndpoint registers another address for the first client in every organization that has users, as another computer
// of the office would; with "" it deletes the registered ones, as that computer would by signing out.
func (s *Server) ReplaceEndpoint(url string) error {
	organizations := map[string]bool{}
	for _, u := range s.opt.Users {
		organizations[u.OrganizationID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(organizations)) {
		var err error
		if url == "" {
			_, err = s.deleteEndpoint(id, s.opt.Clients[0].ID)
		} else {
			_, err = s.replaceEndpoint(id, s.opt.Clients[0].ID, url)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EndpointURLs are the addresses registered for the first client, one for each organization.
func (s *Server) EndpointURLs() (urls []string) {
	for _, e := range s.endpoints() {
		urls = append(urls, e.URL)
	}
	return urls
}

// endpoints are the first client's endpoints.
func (s *Server) endpoints() (all []endpoint) {
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketEndpoints, func(_ string, e endpoint) error {
			if e.ClientID == s.opt.Clients[0].ID {
				all = append(all, e)
			}
			return nil
		})
	})
	if err != nil {
		s.opt.Log.Error("reading the endpoints failed", "error", err)
	}
	return all
}

// Forgery is an event, or any bytes, sent to the first client's endpoint without anything having happened.
type Forgery struct {
	Action    string         // the event's kind
	Fields    map[string]any // properties to set; a nil value is sent as null
	Body      string         // sent as it is instead of an event
	Signature string         // "valid" (default), "wrong" (another secret), "other-url", "none", or the header's value
}

// Forge sends a forgery immediately and returns the receiver's answer.
func (s *Server) Forge(ctx context.Context, f Forgery) (status int, err error) {
	registered := s.endpoints()
	if len(registered) == 0 {
		return 0, notFound("event_endpoint")
	}
	to := registered[len(registered)-1]
	body, err := f.body(s.opt.Now())
	if err != nil {
		return 0, err
	}
	signature := f.Signature
	switch f.Signature {
	case "", "valid":
		signature = sign(to.URL, to.Secret, body)
	case "wrong":
		signature = sign(to.URL, newToken(), body)
	case "other-url":
		signature = sign(to.URL+"/", to.Secret, body)
	case "none":
		signature = ""
	}
	return s.delivery.send(ctx, to.URL, signature, body)
}

// body is Body, or a generated event.
func (f *Forgery) body(now time.Time) ([]byte, error) {
	if f.Body != "" {
		return []byte(f.Body), nil
	}
	values := object{"action": f.Action, "eventId": newID(), "eventTime": eventTime(now), "packageId": newID()}
	maps.Copy(values, f.Fields)
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("writing a forged event: %w", err)
	}
	return raw, nil
}

// SetListHabits changes how packages/list answers from now on.
func (s *Server) SetListHabits(h ListHabits) {
	s.lists.mu.Lock()
	defer s.lists.mu.Unlock()
	s.lists.habits, s.lists.pages = h, 0
}

// adminHandler is the admin port: the controls of a Server as JSON over HTTP on a loopback address, for tests and for trying
// out failures. A POST may leave out its body. Every answer is 200 with JSON, or an error {"error","message"}.
func (s *Server) adminHandler() http.Handler {
	type body struct {
		PackageID string `json:"package_id"`
		EventID   string `json:"event_id"`
		Order     string
		Bytes     int64
		PDF       []byte
	}
	mux := http.NewServeMux()
	for pattern, fn := range map[string]func(w http.ResponseWriter, r *http.Request) (any, error){
		"GET /endpoints":          adminCall(func(struct{}) (any, error) { return append([]string{}, s.EndpointURLs()...), nil }),
		"GET /packages":           adminCall(func(struct{}) (any, error) { return s.Packages(), nil }),
		"POST /sign":              adminCall(func(in body) (any, error) { return nil, s.SignAll(in.PackageID) }),
		"GET /events":             adminCall(func(struct{}) (any, error) { return s.Deliveries() }),
		"POST /events/hold":       adminCall(func(struct{}) (any, error) { s.Hold(); return nil, nil }),
		"POST /events/release":    adminCall(func(in body) (any, error) { return nil, s.Release(in.Order) }),
		"POST /events/disturb":    adminCall(func(in Disturbance) (any, error) { s.Disturb(in); return nil, nil }),
		"POST /events/redeliver":  adminCall(func(in body) (any, error) { return nil, s.Redeliver(in.EventID) }),
		"GET /faults":             adminCall(func(struct{}) (any, error) { return s.Faults(), nil }),
		"POST /faults":            adminCall(func(in Fault) (any, error) { s.Inject(in); return nil, nil }),
		"DELETE /faults":          adminCall(func(struct{}) (any, error) { s.Heal(0); return nil, nil }),
		"POST /tokens/expire":     adminCall(func(struct{}) (any, error) { return nil, s.ExpireAccessTokens() }),
		"POST /tokens/revoke":     adminCall(func(struct{}) (any, error) { return nil, s.RevokeRefreshTokens() }),
		"POST /downloads/pad":     adminCall(func(in body) (any, error) { s.PadDownloads(in.Bytes); return nil, nil }),
		"POST /downloads/replace": adminCall(func(in body) (any, error) { return nil, s.Replace(in.PackageID, in.PDF) }),
		"GET /requests":           adminCall(func(struct{}) (any, error) { return s.Requests(), nil }),
	} {
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
	return s.onlyPrograms(mux)
}

// adminCall is an operation that reads T.
func adminCall[T any](fn func(T) (any, error)) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		var in T
		if err := readJSON(w, r, "admin", &in); err != nil {
			return nil, err
		}
		return fn(in)
	}
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
