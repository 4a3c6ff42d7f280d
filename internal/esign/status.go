package esign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

// Status is the state of a package. What the service did not say is zero: interface.md promises PackageID, State and the
// documents' ids, service-facts.md, 6 and 7.1 the rest.
type Status struct {
	PackageID      string
	OrganizationID string
	MemberID       string
	Name           string
	State          office.PackageState // executed also if only a separate flag says so
	Type           string
	ExternalData   json.RawMessage
	TimeSignBy     time.Time
	TimeCreated    time.Time  // from lists
	TimeExecuted   time.Time  // from lists
	TimeRescinded  time.Time  // if it was withdrawn, from full records
	RescindMessage string     // likewise
	Documents      []Document // in the package's order, including those without an id, see Lists
	Signers        []Signer   // in the package's order
	Recipients     []office.Recipient
}

// Lists reports whether the answer names any documents, and whether it names all it mentions. One that is mentioned without
// an id is still a document, but its file cannot be requested yet.
func (s Status) Lists() (some, all bool) {
	all = len(s.Documents) > 0
	for _, d := range s.Documents {
		some, all = some || d.ID != "", all && d.ID != ""
	}
	return some, all
}

type Document struct {
	ID           string // documentId, "" if the answer omits it
	ExternalID   string
	Name         string
	FileName     string
	Executed     bool
	TimeExecuted time.Time // from lists
	Revisions    []Revision
}

// Revision is one signer's turn on one document.
type Revision struct {
	SignerID string
	IsNext   bool
	IsSigned bool
}

type Signer struct {
	ID           string // signerId
	FirstName    string
	LastName     string
	Email        string
	Locale       string    // "de", "fr-CA"; "" if the service did not say
	Place        int       // in the package's order; the same for all if the service did not say
	IsNext       bool      // it is this person's turn; false also if the answer does not say
	TimeExecuted time.Time // when this person had signed everything, from lists

	// Declined is set once the person has refused to sign; time and reason only if the service gave them. StateTold says
	// whether the answer contained such information at all: a status may name the signers without it, a full record does
	// not.
	Declined   bool
	DeclinedAt time.Time
	Reason     string
	StateTold  bool
	Deleted    bool // was to sign, and no longer is
}

// packageRecord covers all published shapes of a package.
type packageRecord struct {
	PackageID      text                  `json:"packageId"`
	OrganizationID text                  `json:"organizationId"`
	MemberID       text                  `json:"memberId"`
	Name           text                  `json:"name"`
	State          state                 `json:"state"`
	Type           text                  `json:"type"`
	IsExecuted     flag                  `json:"isExecuted"`
	ExternalData   json.RawMessage       `json:"externalData"`
	TimeSignBy     stamp                 `json:"timeSignBy"`
	TimeCreated    stamp                 `json:"timeCreated"`
	TimeExecuted   stamp                 `json:"timeExecuted"`
	TimeRescinded  stamp                 `json:"timeRescinded"`
	RescindMessage text                  `json:"rescindMessage"`
	Documents      documentList          `json:"documents"`
	Signers        list[signerRecord]    `json:"signers"`
	Recipients     list[recipientRecord] `json:"recipients"`
}

// documentList has an entry for every document, even an unreadable one: none may be forgotten.
type documentList []documentRecord

func (l *documentList) UnmarshalJSON(b []byte) error {
	*l = nil
	for _, r := range elements(b) {
		var d documentRecord
		if json.Unmarshal(r, &d) != nil {
			d = documentRecord{}
		}
		*l = append(*l, d)
	}
	return nil
}

type documentRecord struct {
	DocumentID   text                 `json:"documentId"`
	ExternalID   json.RawMessage      `json:"externalId"`
	Name         text                 `json:"name"`
	FileName     text                 `json:"fileName"`
	IsExecuted   flag                 `json:"isExecuted"`
	TimeExecuted stamp                `json:"timeExecuted"`
	Order        number               `json:"order"` // status
	Index        number               `json:"index"` // everything else
	Revisions    list[revisionRecord] `json:"revisions"`
}

type revisionRecord struct {
	SignerID text `json:"signerId"`
	IsNext   flag `json:"isNext"`
	IsSigned flag `json:"isSigned"`
}

type recipientRecord struct {
	FirstName text  `json:"firstName"`
	LastName  text  `json:"lastName"`
	Email     text  `json:"email"`
	Type      state `json:"type"`
}

type signerRecord struct {
	SignerID     text   `json:"signerId"`
	FirstName    text   `json:"firstName"`
	LastName     text   `json:"lastName"`
	Email        text   `json:"email"`
	Locale       text   `json:"locale"`
	Order        number `json:"order"`
	Index        number `json:"index"`
	IsNext       flag   `json:"isNext"` // lists
	Next         flag   `json:"next"`   // full records
	TimeExecuted stamp  `json:"timeExecuted"`

	State          state `json:"state"`
	TimeDeclined   stamp `json:"timeDeclined"`
	DeclineReason  text  `json:"declineReason"`
	DeclineMessage text  `json:"declineMessage"`
}

// signer converts the record into the rest of the program's form (service-facts.md, 7.1).
func (r signerRecord) signer() Signer {
	s := Signer{
		ID: string(r.SignerID), FirstName: string(r.FirstName), LastName: string(r.LastName), Email: string(r.Email),
		Locale: string(r.Locale), Place: int(r.Order + r.Index), IsNext: bool(r.IsNext || r.Next), TimeExecuted: r.TimeExecuted.Time,
		StateTold: r.State != "" || !r.TimeDeclined.IsZero(), Deleted: r.State == "deleted",
	}
	// A person who is asked again may keep the time of the earlier decline, so an explicit state wins.
	if s.Declined = r.State == "declined" || r.State != "active" && !r.TimeDeclined.IsZero(); s.Declined {
		s.DeclinedAt = r.TimeDeclined.Time
		s.Reason = cmp.Or(string(r.DeclineMessage), string(r.DeclineReason))
	}
	return s
}

// Package asks for the full record of a package (service-facts.md, 7). It tells what a status omits about the signers: who
// declined, and why.
func (c *Client) Package(ctx context.Context, packageID string) (Status, error) {
	return c.record(ctx, "asking for the record of package ", "packages/get", packageID, "")
}

// Status asks for the state of a package (interface.md, GET /packages/{packageId}/status).
func (c *Client) Status(ctx context.Context, packageID string) (Status, error) {
	return c.record(ctx, "asking for the status of package ", "packages/status", packageID, "/status")
}

// record requests the resource at a package's path plus end.
func (c *Client) record(ctx context.Context, op, route, packageID, end string) (Status, error) {
	k := &call{op: op + cleanMessage(packageID), route: route, method: http.MethodGet}
	escaped, err := id(k.op, message.PackageIDUnusable(), packageID)
	if err != nil {
		return Status{}, err
	}
	k.path = "/packages/" + escaped + end
	raw, err := c.whole(ctx, k)
	if err != nil {
		return Status{}, err
	}
	s, ok := readStatus(raw)
	if !ok || s.PackageID != "" && !strings.EqualFold(s.PackageID, packageID) {
		return Status{}, &Error{Op: k.op, Kind: BadAnswer, Status: http.StatusOK}
	}
	s.PackageID = packageID
	return s, nil
}

// readStatus decodes a package, bare or under "package", where its id may be beside it. ok is false if it has neither an id nor a
// state.
func readStatus(raw []byte) (Status, bool) {
	for i, record := range [][]byte{raw, unwrap(raw, "package", "status"), raw} {
		var r packageRecord
		if json.Unmarshal(record, &r) == nil && (r.State != "" || r.PackageID != "" && i > 0) {
			return r.status(), true
		}
	}
	return Status{}, false
}

func (r packageRecord) status() Status {
	s := Status{
		PackageID:      string(r.PackageID),
		OrganizationID: string(r.OrganizationID),
		MemberID:       string(r.MemberID),
		Name:           string(r.Name),
		State:          office.PackageState(r.State),
		Type:           string(r.Type),
		ExternalData:   rawOrNil(r.ExternalData),
		TimeSignBy:     r.TimeSignBy.Time,
		TimeCreated:    r.TimeCreated.Time,
		TimeExecuted:   r.TimeExecuted.Time,
		TimeRescinded:  r.TimeRescinded.Time,
		RescindMessage: string(r.RescindMessage),
	}
	if r.IsExecuted { // service-facts.md, 5: before 4.0 an executed package was open with this flag
		s.State = office.PackageExecuted
	}
	slices.SortStableFunc(r.Documents, func(a, b documentRecord) int { return cmp.Compare(a.Order+a.Index, b.Order+b.Index) })
	slices.SortStableFunc(r.Signers, func(a, b signerRecord) int { return cmp.Compare(a.Order+a.Index, b.Order+b.Index) })
	for _, d := range r.Documents {
		s.Documents = append(s.Documents, d.document(s.State == office.PackageExecuted))
	}
	for _, p := range r.Signers {
		s.Signers = append(s.Signers, p.signer())
	}
	for _, p := range r.Recipients {
		s.Recipients = append(s.Recipients, office.Recipient{FirstName: string(p.FirstName), LastName: string(p.LastName), Email: string(p.Email),
			Blind: p.Type == state(strings.ToLower(string(RecipientBlind)))})
	}
	return s
}

func (d documentRecord) document(packageExecuted bool) Document {
	doc := Document{
		ID:           string(d.DocumentID),
		ExternalID:   externalID(d.ExternalID),
		Name:         string(d.Name),
		FileName:     string(d.FileName),
		Executed:     bool(d.IsExecuted) || packageExecuted,
		TimeExecuted: d.TimeExecuted.Time,
	}
	for _, r := range d.Revisions {
		doc.Revisions = append(doc.Revisions, Revision{string(r.SignerID), bool(r.IsNext), bool(r.IsSigned)})
	}
	return doc
}

// ListQuery selects packages; zero fields do not restrict it (service-facts.md, 7).
type ListQuery struct {
	NewestFirst bool // requests that order, by creation; only the answer shows whether the service obeyed
	Own         bool // only the caller's own, not the whole organization's
	Take        int  // at most that many; 0 leaves it to the service, which may always give fewer
	Skip        int
}

// Page is part of a list.
type Page struct {
	Items []Status
	Total int // in the whole list, according to the service; 0 if it did not say
}

const listRoute = "packages/list"

func (c *Client) List(ctx context.Context, q ListQuery) (Page, error) {
	k := &call{op: "listing packages", route: listRoute, method: http.MethodPost, path: "/packages/list"}
	var sortBy string
	if q.NewestFirst {
		sortBy = listNewestFirst
	}
	err := k.jsonBody(struct {
		SortBy     string `json:"sortBy,omitempty"`
		AllMembers bool   `json:"allMembers"`
		Take       int    `json:"take,omitempty"`
		Skip       int    `json:"skip,omitempty"`
	}{sortBy, !q.Own, q.Take, q.Skip})
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

func readPage(raw []byte) (page Page, ok bool) {
	records, _, total, ok := readList(raw, func(r packageRecord) bool { return r.PackageID != "" })
	page.Total = total
	for _, r := range records {
		page.Items = append(page.Items, r.status())
	}
	return page, ok
}

// readList reads {"items", "total"} or a bare array. It returns the elements that known accepts, how many elements there
// were altogether, and how many the service says there are in total. ok is false for anything else and for a non-empty array
// of which no element is known. In particular that must not count as an empty list: whoever reads a list to its end
// concludes that what is not in it does not exist.
func readList[T any](raw []byte, known func(T) bool) (items []T, given, total int, ok bool) {
	var said struct {
		Items json.RawMessage `json:"items"`
		Total *number         `json:"total"`
	}
	if bytes.HasPrefix(raw, []byte("[")) {
		said.Items = raw
	} else if json.Unmarshal(raw, &said) != nil || said.Items == nil && said.Total == nil {
		return nil, 0, 0, false
	}
	if said.Total != nil {
		total = int(*said.Total)
	}
	if rawOrNil(said.Items) != nil {
		for _, element := range elements(said.Items) {
			var v T
			if json.Unmarshal(element, &v) == nil && known(v) {
				items = append(items, v)
			}
			given++
		}
	}
	return items, given, total, given == 0 || len(items) > 0
}
