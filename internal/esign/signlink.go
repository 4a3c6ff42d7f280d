package esign

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/internal/message"
)

// SignLink is where one signer signs. Whoever has it can sign as that person: it is never stored and never logged.
type SignLink struct {
	URL     string
	Expires time.Time // zero when the service did not say
}

// SignLink makes a link for a signer to sign with (service-facts.md, 7). Where the service has no such call, or this account
// may not use it, one that the status carries does (service-facts.md, 6).
func (c *Client) SignLink(ctx context.Context, packageID, signerID string) (SignLink, error) {
	k := &call{op: "making a link to sign package " + cleanMessage(packageID), route: "packages/link/sign", method: http.MethodPost}
	p, err := id(k.op, message.PackageIDUnusable(), packageID)
	if err != nil {
		return SignLink{}, err
	}
	s, err := id(k.op, message.SignerIDUnusable(), signerID)
	if err != nil {
		return SignLink{}, err
	}
	k.path = "/packages/" + p + "/link/sign/" + s
	link, err := c.link(ctx, k)
	var e *Error
	if NotOffered(err) || errors.As(err, &e) && e.Status == http.StatusForbidden {
		if given, ok := c.statusLink(ctx, p, signerID); ok {
			return given, nil
		}
	}
	return link, err
}

// EditLink makes a link to the service's own editor for a package, which lives only briefly (service-facts.md, 7).
func (c *Client) EditLink(ctx context.Context, packageID string) (SignLink, error) {
	k := &call{op: "making a link to edit package " + cleanMessage(packageID), route: "packages/link/edit", method: http.MethodPost}
	p, err := id(k.op, message.PackageIDUnusable(), packageID)
	if err != nil {
		return SignLink{}, err
	}
	k.path = "/packages/" + p + "/link/edit"
	return c.link(ctx, k)
}

// link makes the call k and reads the link it answers.
func (c *Client) link(ctx context.Context, k *call) (SignLink, error) {
	var said struct {
		Link    text  `json:"link"`
		Expires stamp `json:"timeExpires"`
	}
	if err := c.json(ctx, k, &said); err != nil {
		return SignLink{}, err
	}
	if !isLink(string(said.Link)) {
		return SignLink{}, k.unreadable()
	}
	return SignLink{string(said.Link), said.Expires.Time}, nil
}

// isLink accepts what may be opened in a browser, which would also start other programs for other schemes.
func isLink(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && secureURL(u)
}

// givenLink is a link of a signer in a status or in a full record.
type givenLink struct {
	SignerID text  `json:"signerId"`
	Link     text  `json:"link"`
	SignLink text  `json:"signLink"`
	Expires  stamp `json:"timeExpires"`
	IsNext   flag  `json:"isNext"`
	IsSigned flag  `json:"isSigned"`

	Links list[givenLink] `json:"links"`
}

// statusLink is a link of a signer that the status carries for what is not signed yet, the one whose turn it is first.
// escaped is the id of the package as a part of a path.
func (c *Client) statusLink(ctx context.Context, escaped, signerID string) (found SignLink, ok bool) {
	k := &call{op: "asking for a link to sign", route: "packages/status", method: http.MethodGet, path: "/packages/" + escaped + "/status"}
	var raw json.RawMessage
	if c.json(ctx, k, &raw) != nil {
		return SignLink{}, false
	}
	var said struct {
		Signers   list[givenLink] `json:"signers"`
		Documents list[struct {
			Revisions list[givenLink] `json:"revisions"`
		}] `json:"documents"`
	}
	if json.Unmarshal(unwrap(raw, "package", "status"), &said) != nil {
		return SignLink{}, false
	}
	next := false
	take := func(g givenLink, address text) {
		if isLink(string(address)) && !bool(g.IsSigned) && (!ok || bool(g.IsNext) && !next) {
			found, ok, next = SignLink{string(address), g.Expires.Time}, true, bool(g.IsNext)
		}
	}
	for _, s := range said.Signers {
		if !strings.EqualFold(string(s.SignerID), signerID) {
			continue
		}
		for _, g := range s.Links {
			take(g, g.Link)
		}
		take(s, s.SignLink)
	}
	for _, d := range said.Documents {
		for _, r := range d.Revisions {
			if strings.EqualFold(string(r.SignerID), signerID) {
				take(r, r.Link)
			}
		}
	}
	return found, ok
}
