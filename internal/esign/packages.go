package esign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

type NewPackage struct {
	Name         string          `json:"name"`
	Message      string          `json:"message,omitempty"` // to the signers, may be empty
	Sequential   bool            `json:"-"`                 // signers sign in the order given; otherwise all at the same time
	Due          time.Time       `json:"-"`
	Signers      []NewSigner     `json:"signers"`
	Recipients   []NewRecipient  `json:"recipients,omitempty"` // who gets a copy
	Documents    []NewDocument   `json:"documents"`
	ExternalData json.RawMessage `json:"externalData,omitempty"` // any JSON; returned in status and events
	TemplateID   string          `json:"templateId,omitempty"`   // whose documents are included; empty for none
}

// NewSigner is a person who is to sign, in a role of the template if one is named.
type NewSigner struct {
	FirstName        string `json:"firstName"`
	LastName         string `json:"lastName"`
	Email            string `json:"email"`
	TemplateRole     string `json:"templateRole,omitempty"`
	TemplateSignerID string `json:"templateSignerId,omitempty"`
}

// NewRecipient is a person who is to get a copy, in a role of the template if one is named.
type NewRecipient struct {
	FirstName string        `json:"firstName"`
	LastName  string        `json:"lastName"`
	Email     string        `json:"email"`
	Type      RecipientType `json:"type"`

	TemplateRole        string `json:"templateRole,omitempty"` // this, the id, or neither
	TemplateRecipientID string `json:"templateRecipientId,omitempty"`
}

// RecipientType is the way somebody gets a copy.
type RecipientType string

// NewDocument is an uploaded file as a document of a package, a document of the template with values for its fields, or
// both: a file that replaces the template's document.
type NewDocument struct {
	FileID             string            `json:"fileId,omitempty"` // from Upload; empty for the template's own file
	FileName           string            `json:"fileName,omitempty"`
	Name               string            `json:"name,omitempty"`       // shown to people
	ExternalID         string            `json:"externalId,omitempty"` // returned in status and events, may be empty
	TemplateDocumentID string            `json:"templateDocumentId,omitempty"`
	TemplateData       map[string]string `json:"templateData,omitempty"` // value by data id
}

// Added is a package that the service accepted.
type Added struct {
	PackageID      string
	OrganizationID string  // "" if the service did not say
	MemberID       string  // likewise
	Status         *Status // nil unless the service returned the package
}

// AddPackage creates a package and sends it for signature (interface.md, POST /api/v1/packages/add). It repeats the call
// only after a token was rejected before any work. If the error is ErrOutcomeUnknown, the package may exist; with any other
// it does not, and Temporary says whether trying again may help.
func (c *Client) AddPackage(ctx context.Context, p NewPackage) (Added, error) {
	k := &call{op: fmt.Sprintf("sending the package %q", p.Name), route: "packages/add", method: http.MethodPost, path: "/packages/add", single: true, slow: true}
	if err := k.jsonBody(addBody(p)); err != nil {
		return Added{}, err
	}
	body, err := c.whole(ctx, k)
	if err != nil {
		return Added{}, outcome(err)
	}
	added, ok := readAdded(body)
	if !ok {
		return Added{}, outcome(k.unreadable())
	}
	return added, nil
}

// outcome makes an error Unknown if the service may have carried out the call.
func outcome(err error) error {
	var e *Error
	if !errors.As(err, &e) || !e.MayBeDone {
		return err
	}
	unknown := *e
	unknown.Kind = Unknown
	return &unknown
}

// addBody is p in the service's format.
func addBody(p NewPackage) any {
	p.Signers, p.Documents = append([]NewSigner{}, p.Signers...), append([]NewDocument{}, p.Documents...) // never null in JSON
	r := struct {
		NewPackage
		Type          string `json:"type"`
		State         string `json:"state"`
		TimeSignBy    string `json:"timeSignBy,omitempty"`
		ReturnPackage bool   `json:"returnPackage"`
	}{NewPackage: p, Type: typeConcurrent, State: addState, ReturnPackage: addReturnPackage}
	if p.Sequential {
		r.Type = typeSequential
	}
	if !p.Due.IsZero() {
		r.TimeSignBy = p.Due.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return r
}

// readAdded takes the ids from the top level of the answer or from the package in it (service-facts.md, 4.4).
func readAdded(body []byte) (Added, bool) {
	var top struct {
		PackageID      text            `json:"packageId"`
		OrganizationID text            `json:"organizationId"`
		MemberID       text            `json:"memberId"`
		Package        json.RawMessage `json:"package"`
	}
	if json.Unmarshal(body, &top) != nil {
		return Added{}, false
	}
	a := Added{PackageID: string(top.PackageID), OrganizationID: string(top.OrganizationID), MemberID: string(top.MemberID)}
	if s, ok := readStatus(top.Package); ok {
		a.Status = &s
		a.PackageID = cmp.Or(a.PackageID, s.PackageID)
		a.OrganizationID = cmp.Or(a.OrganizationID, s.OrganizationID)
		a.MemberID = cmp.Or(a.MemberID, s.MemberID)
	}
	return a, a.PackageID != ""
}

// Rescind withdraws a sent package (service-facts.md, 7, POST /packages/rescind). words go to its people, whom the service
// notifies if notify is set. nil means that the service confirmed it. If the error is ErrOutcomeUnknown, the package may be
// withdrawn, and its status will tell; with any other error this call did not withdraw it. See NotServed, too.
func (c *Client) Rescind(ctx context.Context, packageID, words string, notify bool) error {
	k := &call{
		op: "withdrawing package " + cleanMessage(packageID), route: "packages/rescind", method: http.MethodPost, path: "/packages/rescind",
		redirect: redirectNowhere, // the work may already be done
	}
	if _, err := id(k.op, message.PackageIDUnusable(), packageID); err != nil {
		return err
	}
	err := k.jsonBody(struct {
		PackageID      string `json:"packageId"`
		RescindMessage string `json:"rescindMessage"`
		Notify         bool   `json:"notify"`
	}{packageID, words, notify})
	if err != nil {
		return err
	}
	body, err := c.whole(ctx, k)
	if NotServed(err) {
		return err
	}
	if err != nil {
		return outcome(err)
	}
	var said struct {
		PackageID text `json:"packageId"`
	}
	if json.Unmarshal(body, &said) != nil || !strings.EqualFold(string(said.PackageID), packageID) {
		return outcome(k.unreadable())
	}
	return nil
}

// SignLink creates a link with which a signer can sign (service-facts.md, 7). Whoever has it can sign as that person: it is
// never stored and never logged.
func (c *Client) SignLink(ctx context.Context, packageID, signerID string) (string, error) {
	op := "making a link to sign package " + cleanMessage(packageID)
	s, err := id(op, message.SignerIDUnusable(), signerID)
	if err != nil {
		return "", err
	}
	return c.link(ctx, op, "packages/link/sign", packageID, "/link/sign/"+s)
}

// EditLink creates a short-lived link to the service's own editor for a package (service-facts.md, 7).
func (c *Client) EditLink(ctx context.Context, packageID string) (string, error) {
	return c.link(ctx, "making a link to edit package "+cleanMessage(packageID), "packages/link/edit", packageID, "/link/edit")
}

// link makes the call at a package's path plus end, and returns the link in its answer.
func (c *Client) link(ctx context.Context, op, route, packageID, end string) (string, error) {
	k := &call{op: op, route: route, method: http.MethodPost}
	p, err := id(op, message.PackageIDUnusable(), packageID)
	if err != nil {
		return "", err
	}
	k.path = "/packages/" + p + end
	var said struct {
		Link text `json:"link"`
	}
	body, err := c.whole(ctx, k)
	if err != nil {
		return "", err
	}
	if json.Unmarshal(body, &said) != nil || !isLink(string(said.Link)) {
		return "", k.unreadable()
	}
	return string(said.Link), nil
}

// isLink accepts only addresses for a browser, because other schemes could start other programs.
func isLink(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && secureURL(u)
}

// TemplateQuery selects templates; zero fields do not restrict it (service-facts.md, 7).
type TemplateQuery struct {
	Search      string // full text; a * at the end of a word matches any ending
	Everyone    bool   // also other members' templates, which needs a permission
	RecentFirst bool   // requests that order, by last use; only the answer shows whether the service obeyed
	Take        int    // at most that many; 0 leaves it to the service, which may always give fewer
	Skip        int
}

// TemplatePage is part of the list of templates.
type TemplatePage struct {
	Items []office.Template // those from which packages can be made
	Given int               // how many the service returned, including those not in Items
	Total int               // in the whole list, according to the service; 0 if it did not say
}

// Templates lists templates (service-facts.md, 7). A service without them answers with an error that is NotOffered.
func (c *Client) Templates(ctx context.Context, q TemplateQuery) (TemplatePage, error) {
	k := &call{op: "listing templates", route: "templates/list", method: http.MethodPost, path: "/templates/list"}
	var sortBy string
	if q.RecentFirst {
		sortBy = templatesRecentFirst
	}
	err := k.jsonBody(struct {
		Search     string `json:"search,omitempty"`
		SortBy     string `json:"sortBy,omitempty"`
		AllMembers bool   `json:"allMembers,omitempty"`
		Take       int    `json:"take,omitempty"`
		Skip       int    `json:"skip"`
	}{q.Search, sortBy, q.Everyone, q.Take, q.Skip})
	if err != nil {
		return TemplatePage{}, err
	}
	raw, err := c.whole(ctx, k)
	if err != nil {
		return TemplatePage{}, err
	}
	page, ok := readTemplates(raw)
	if !ok {
		return TemplatePage{}, k.unreadable()
	}
	return page, nil
}

func readTemplates(raw []byte) (page TemplatePage, ok bool) {
	records, given, total, ok := readList(raw, func(r templateRecord) bool { return cmp.Or(r.TemplateID, r.ID) != "" })
	page.Given, page.Total = given, total
	for _, r := range records {
		if !slices.Contains(notForPackages, string(r.Type)) {
			page.Items = append(page.Items, r.template())
		}
	}
	return page, ok
}

type templateRecord struct {
	TemplateID   text                 `json:"templateId"`
	ID           text                 `json:"id"`
	Name         text                 `json:"name"`
	Description  text                 `json:"description"`
	Message      text                 `json:"message"`
	PackageType  text                 `json:"packageType"`
	Type         state                `json:"type"`
	TimeLastUsed stamp                `json:"timeLastUsed"`
	Documents    list[templateFile]   `json:"documents"`
	Signers      list[templatePerson] `json:"signers"`
	Recipients   list[templatePerson] `json:"recipients"`
}

// template converts the record; its texts are safe to show anywhere.
func (r templateRecord) template() office.Template {
	id := string(cmp.Or(r.TemplateID, r.ID))
	t := office.Template{
		ID: id, Name: cmp.Or(oneLine(r.Name), id), Description: oneLine(r.Description), Message: string(r.Message),
		Sequential: sequentialType(string(r.PackageType)) || sequentialType(string(r.Type)), LastUsed: r.TimeLastUsed.Time,
		Roles: roles(r.Signers), Copies: roles(r.Recipients),
	}
	slices.SortStableFunc(r.Documents, func(a, b templateFile) int { return cmp.Compare(a.Index+a.Order, b.Index+b.Order) })
	for _, f := range r.Documents {
		t.Documents = append(t.Documents, f.document())
	}
	return t
}

func oneLine(s text) string { return message.OneLine(string(s), office.MaxName) }

// sequentialType reports whether a package type makes its signers sign in order, in any case. A template has it as
// packageType beside its own type, or as its only type (assumed.go).
func sequentialType(name string) bool { return strings.EqualFold(name, typeSequential) }

type templateFile struct {
	TemplateDocumentID text                `json:"templateDocumentId"`
	DocumentID         text                `json:"documentId"`
	ID                 text                `json:"id"`
	Name               text                `json:"name"`
	FileName           text                `json:"fileName"`
	Index              number              `json:"index"`
	Order              number              `json:"order"`
	Data               list[templateField] `json:"data"`
}

// document keeps only text fields with a data id: others, such as signatures, cannot be filled in (service-facts.md, 4.3).
func (f templateFile) document() office.TemplateDocument {
	d := office.TemplateDocument{ID: string(cmp.Or(f.TemplateDocumentID, f.DocumentID, f.ID)), Name: string(f.Name), FileName: string(f.FileName)}
	seen := map[text]bool{"": true}
	for _, x := range f.Data {
		multiline := strings.Contains(string(x.Type), "multi") || strings.Contains(string(x.Type), "area")
		if seen[x.DataID] || x.Type != "" && !multiline && !strings.Contains(string(x.Type), "text") {
			continue
		}
		seen[x.DataID] = true
		d.Fields = append(d.Fields, office.TemplateField{ID: string(x.DataID), Name: oneLine(cmp.Or(x.Label, x.Name)), Value: string(x.Value), Multiline: multiline})
	}
	return d
}

type templateField struct {
	DataID text  `json:"dataId"`
	Label  text  `json:"label"`
	Name   text  `json:"name"`
	Type   state `json:"type"`
	Value  text  `json:"value"`
}

type templatePerson struct {
	TemplateSignerID    text   `json:"templateSignerId"`
	TemplateRecipientID text   `json:"templateRecipientId"`
	SignerID            text   `json:"signerId"`
	RecipientID         text   `json:"recipientId"`
	ID                  text   `json:"id"`
	TemplateRole        text   `json:"templateRole"`
	Role                text   `json:"role"`
	FirstName           text   `json:"firstName"`
	LastName            text   `json:"lastName"`
	Email               text   `json:"email"`
	Index               number `json:"index"`
	Order               number `json:"order"`
}

func roles(records []templatePerson) []office.TemplateRole {
	all := []office.TemplateRole{}
	slices.SortStableFunc(records, func(a, b templatePerson) int { return cmp.Compare(a.Index+a.Order, b.Index+b.Order) })
	for _, p := range records {
		role := p.TemplateRole
		if role == "" && !slices.Contains(signerRoles, strings.ToLower(string(p.Role))) {
			role = p.Role
		}
		all = append(all, office.TemplateRole{
			ID:   string(cmp.Or(p.TemplateSignerID, p.TemplateRecipientID, p.SignerID, p.RecipientID, p.ID)),
			Role: string(role), FirstName: oneLine(p.FirstName), LastName: oneLine(p.LastName), Email: oneLine(p.Email),
		})
	}
	return all
}
