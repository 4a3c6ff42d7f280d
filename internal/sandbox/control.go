package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Package is a package as tests look at it.
type Package struct {
	PackageID string     `json:"package_id"`
	Name      string     `json:"name"`
	State     string     `json:"state"`
	Notified  []string   `json:"notified"` // of what its people were told, a state each time
	Documents []Document `json:"documents"`
	Signers   []Signer   `json:"signers"`

	Recipients []Recipient `json:"recipients"`
}

// Recipient is who gets a copy of a Package. Type is CC or BCC.
type Recipient struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Type  string `json:"type"`
}

// Document is a document of a Package.
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
	Signed   bool   `json:"signed"` // every document
	Page     string `json:"page"`
}

// Packages returns all packages, oldest first, as they are at this moment. They are shared: nobody may change them.
func (s *Server) Packages() []Package {
	all, err := s.packs()
	if err != nil {
		s.log.Error("reading the packages failed", "error", err)
	}
	now, out := s.opt.Now(), make([]Package, 0, len(all))
	for _, p := range slices.Backward(all) {
		if p.view != nil {
			out = append(out, *p.view)
		} else {
			out = append(out, s.controlView(&p.pack, now))
		}
	}
	return out
}

// controlView is p as tests look at it.
func (s *Server) controlView(p *pack, now time.Time) Package {
	v := Package{PackageID: p.PackageID, Name: p.Name, State: p.stateAt(now), Notified: append([]string{}, p.Notified...), Documents: []Document{}, Signers: []Signer{}, Recipients: []Recipient{}}
	for _, d := range p.Documents {
		v.Documents = append(v.Documents, Document{d.DocumentID, d.Name, d.TimeExecuted != nil})
	}
	for j := range p.Signers {
		sg := &p.Signers[j]
		v.Signers = append(v.Signers, Signer{
			SignerID: sg.SignerID, Name: sg.fullName(), Email: sg.Email,
			Turn: p.hasTurn(sg.SignerID, now), Signed: p.signedBy(sg.SignerID), Page: s.linkURL(sg.LinkToken),
		})
	}
	for _, r := range p.Recipients {
		v.Recipients = append(v.Recipients, Recipient{strings.TrimSpace(r.FirstName + " " + r.LastName), r.Email, r.Type})
	}
	return v
}

// SignAll lets every signer sign in turn until nobody has anything left to sign.
func (s *Server) SignAll(packageID string) error {
	for {
		p, err := read[pack](s.db, bucketPackages, packageID)
		if errors.Is(err, errNotFound) {
			return notFound("package")
		}
		if err != nil {
			return err
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

// Extend has a package be signed by another day, as its sender does on the service's own pages: one that has run out is open again.
func (s *Server) Extend(packageID string, by time.Time) error {
	return s.changePack(packageID, func(p *pack, _ time.Time) ([]event, error) {
		p.TimeSignBy = &by
		return nil, nil
	})
}

// ExpireAccessTokens makes every access token expired from now on.
func (s *Server) ExpireAccessTokens() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		return sweep(tx, bucketAccess, func(accessToken) bool { return true })
	})
}

// RevokeRefreshTokens ends the family of one refresh token, or every family for "".
func (s *Server) RevokeRefreshTokens(token string) error {
	if token != "" {
		return s.revokeToken("", token)
	}
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

// ReplaceEndpoint registers another address for a client in every organization that has people, as another computer
// of the office would; with "" it deletes what is registered, as that one would by signing out.
func (s *Server) ReplaceEndpoint(clientID, url string) error {
	setDefault(&clientID, s.opt.Clients[0].ID)
	if _, ok := s.client(clientID); !ok {
		return notFound("client")
	}
	if url != "" && !usableEndpoint(url) {
		return badRequest("event_endpoint_invalid_url", "The url must be a complete HTTPS address.")
	}
	done := map[string]bool{}
	for _, u := range s.opt.Users {
		if done[u.OrganizationID] {
			continue
		}
		done[u.OrganizationID] = true
		var err error
		if url == "" {
			_, err = s.deleteEndpoint(u.OrganizationID, clientID)
		} else {
			_, err = s.replaceEndpoint(u.OrganizationID, clientID, url)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EndpointURLs are the addresses registered for a client, one for each organization.
func (s *Server) EndpointURLs(clientID string) (urls []string) {
	setDefault(&clientID, s.opt.Clients[0].ID)
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketEndpoints, func(_ string, e endpoint) error {
			if e.ClientID == clientID {
				urls = append(urls, e.URL)
			}
			return nil
		})
	})
	if err != nil {
		s.log.Error("reading the endpoints failed", "error", err)
	}
	return urls
}

// Forgery is an event, or any bytes, sent to a registered endpoint without anything having happened.
type Forgery struct {
	ClientID  string            `json:"client_id"`  // whose endpoint; "" is the first client
	Action    string            `json:"action"`     // kind of the event; made-up ids where Fields has none
	Fields    map[string]any    `json:"fields"`     // properties to set; a null value is sent as null
	Omit      []string          `json:"omit"`       // properties to leave out
	Body      *string           `json:"body"`       // sent as it is, instead of an event
	Path      string            `json:"path"`       // sent to this path of the endpoint's host instead
	Signature string            `json:"signature"`  // "valid" (default), "wrong" (another secret), "other-url", "none", or the header's value
	Headers   map[string]string `json:"headers"`    // set on the request; "" removes one
	EventTime *time.Time        `json:"event_time"` // default now
}

// Forge sends a forgery at once and returns the receiver's answer.
func (s *Server) Forge(ctx context.Context, f Forgery) (status int, err error) {
	setDefault(&f.ClientID, s.opt.Clients[0].ID)
	to, err := s.anyEndpoint(f.ClientID)
	if err != nil {
		return 0, err
	}
	body, err := f.body(s.opt.Now())
	if err != nil {
		return 0, err
	}
	headers := map[string]string{}
	name := http.CanonicalHeaderKey(s.opt.SignatureHeader)
	switch f.Signature {
	case "", "valid":
	case "wrong":
		headers[name] = sign(to.URL, newToken(), body)
	case "other-url":
		headers[name] = sign(to.URL+"/", to.Secret, body)
	case "none":
		headers[name] = ""
	default:
		headers[name] = f.Signature
	}
	maps.Copy(headers, f.Headers)
	address := to.URL
	if f.Path != "" {
		scheme, rest, _ := strings.Cut(to.URL, "://")
		host, _, _ := strings.Cut(rest, "/")
		address = scheme + "://" + host + f.Path
		if _, set := headers[name]; !set {
			headers[name] = sign(to.URL, to.Secret, body)
		}
	}
	return s.delivery.send(ctx, address, to.Secret, body, headers)
}

func (s *Server) anyEndpoint(clientID string) (endpoint, error) {
	var found *endpoint
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketEndpoints, func(_ string, e endpoint) error {
			if e.ClientID == clientID {
				found = &e
			}
			return nil
		})
	})
	if err == nil && found == nil {
		err = notFound("event_endpoint")
	}
	if err != nil {
		return endpoint{}, err
	}
	return *found, nil
}

// body writes the bytes: as given, or an event with the properties its kind has.
func (f *Forgery) body(now time.Time) ([]byte, error) {
	if f.Body != nil {
		return []byte(*f.Body), nil
	}
	if f.EventTime != nil {
		now = *f.EventTime
	}
	names := []string{"packageId", "externalData", "eventOwnerOrganizationId", "eventOwnerMemberId"}
	switch f.Action {
	case actionDocumentExecuted:
		names = []string{"packageId", "documentId", "externalId"}
	case actionSigned:
		names = []string{"packageId", "documentId", "revisionId", "signerId", "nextSignerId", "externalId",
			"eventOwnerOrganizationId", "eventOwnerMemberId"}
	}
	values := map[string]any{"action": f.Action, "eventId": newID(), "eventTime": eventTime(now)}
	for _, name := range names {
		values[name] = newID()
		if strings.HasPrefix(name, "external") {
			values[name] = nil
		}
	}
	maps.Copy(values, f.Fields)
	for _, name := range f.Omit {
		delete(values, name)
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("writing a forged event: %w", err)
	}
	return raw, nil
}
