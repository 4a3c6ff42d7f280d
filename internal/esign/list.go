package esign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// ListQuery selects packages; zero fields do not restrict (service-facts.md, 7).
type ListQuery struct {
	Search      string   // full text
	States      []string // the service's words
	NewestFirst bool     // asks for that order, by creation; whether it is kept shows in the answer alone
	Take        int      // at most that many; 0 leaves it to the service, which may give fewer in any case
	Skip        int
}

// Page is a part of a list.
type Page struct {
	Items []Status
	Total int // in the whole list, as the service says; 0 when it does not
}

const listRoute = "packages/list"

// List lists packages of the whole organization where the account may see them.
func (c *Client) List(ctx context.Context, q ListQuery) (Page, error) {
	k := &call{op: "listing packages", route: listRoute, method: http.MethodPost, path: "/packages/list"}
	var sortBy string
	if q.NewestFirst {
		sortBy = listNewestFirst
	}
	err := k.jsonBody(struct {
		Search     string   `json:"search,omitempty"`
		States     []string `json:"states,omitempty"`
		SortBy     string   `json:"sortBy,omitempty"`
		AllMembers bool     `json:"allMembers"`
		Take       int      `json:"take,omitempty"`
		Skip       int      `json:"skip,omitempty"`
	}{q.Search, q.States, sortBy, true, q.Take, q.Skip})
	if err != nil {
		return Page{}, err
	}
	raw, err := c.whole(ctx, k)
	if err != nil {
		return Page{}, err
	}
	page, ok := readPage(raw)
	if !ok {
		return Page{}, k.unreadable()
	}
	return page, nil
}

// readPage reads {"items", "total"} or a bare array. What is neither, or holds items of which none is a package, is no
// list, least of all an empty one: whoever reads a list to its end takes what is not in it for not there.
func readPage(raw []byte) (page Page, ok bool) {
	if page, ok = readPlainPage(raw); ok {
		return page, true
	}
	var said struct {
		Items json.RawMessage `json:"items"`
		Total *number         `json:"total"`
	}
	if bytes.HasPrefix(raw, []byte("[")) {
		said.Items = raw
	} else if json.Unmarshal(raw, &said) != nil || said.Items == nil && said.Total == nil {
		return Page{}, false
	}
	if said.Total != nil {
		page.Total = int(*said.Total)
	}
	var items list[packageRecord]
	json.Unmarshal(said.Items, &items) // a list never fails
	for _, r := range items {
		if r.PackageID != "" {
			page.Items = append(page.Items, r.status())
		}
	}
	if len(page.Items) > 0 {
		return page, true
	}
	var given []json.RawMessage
	empty := rawOrNil(said.Items) == nil || json.Unmarshal(said.Items, &given) == nil && len(given) == 0
	return page, empty
}

// readPlainPage reads a page that holds packages and nothing odd. Nearly all do, and have hundreds.
func readPlainPage(raw []byte) (page Page, ok bool) {
	var said struct {
		Items []*plainPackage `json:"items"`
		Total *number         `json:"total"`
	}
	into := any(&said)
	if bytes.HasPrefix(raw, []byte("[")) {
		into = &said.Items
	}
	if json.Unmarshal(raw, into) != nil || repeatsList(raw) {
		return Page{}, false
	}
	if said.Total != nil {
		page.Total = int(*said.Total)
	}
	for _, p := range said.Items {
		if p != nil && p.PackageID != "" {
			page.Items = append(page.Items, p.record().status())
		}
	}
	return page, len(page.Items) > 0
}

// Organization is what organizations/info says, as far as it can be recognised: its answer is not shown.
type Organization struct {
	ID      string
	Name    string
	Members []Member
}

// Member is a member of the organization.
type Member struct{ ID, FirstName, LastName, Email string }

// Organization asks for the organization and its members. Nothing depends on it: the ids are in the claims, in the
// answer to AddPackage and in every status too (service-facts.md, 9).
func (c *Client) Organization(ctx context.Context) (Organization, error) {
	const op = "asking for the organization"
	var raw json.RawMessage
	err := c.json(ctx, &call{op: op, route: "GET organizations/info", method: http.MethodGet, path: organizationPath}, &raw)
	if e, ok := errors.AsType[*Error](err); ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		post := &call{op: op, route: "POST organizations/info", method: http.MethodPost, path: organizationPath}
		if err := post.jsonBody(struct{}{}); err != nil {
			return Organization{}, err
		}
		err = c.json(ctx, post, &raw)
	}
	if err != nil {
		return Organization{}, err
	}
	var said struct {
		ID               text `json:"organizationId"`
		Name             text `json:"name"`
		OrganizationName text `json:"organizationName"`
		Members          list[struct {
			ID        text `json:"memberId"`
			FirstName text `json:"firstName"`
			LastName  text `json:"lastName"`
			Email     text `json:"email"`
		}] `json:"members"`
	}
	if json.Unmarshal(unwrap(raw, "organization"), &said) != nil {
		return Organization{}, &Error{Op: op, Kind: BadAnswer, Status: http.StatusOK}
	}
	members := said.Members
	if len(members) == 0 {
		said.Members = nil
		json.Unmarshal(raw, &said) // the members may stand beside the organization
		members = said.Members
	}
	o := Organization{ID: string(said.ID), Name: cmp.Or(string(said.Name), string(said.OrganizationName))}
	for _, m := range members {
		o.Members = append(o.Members, Member{string(m.ID), string(m.FirstName), string(m.LastName), string(m.Email)})
	}
	return o, nil
}
