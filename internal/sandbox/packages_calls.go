package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
)

// visiblePack is a package the caller may see. It belongs to the shelf.
func (s *Server) visiblePack(id string, who caller) (*shelved, error) {
	if !who.canUsePackages() {
		return nil, forbidden("package_not_authorized", "The organization or member scope is needed.")
	}
	p, err := s.pack(id)
	if err != nil {
		return nil, err
	}
	if p == nil || !who.sees(&p.pack) {
		return nil, notFound("package")
	}
	return p, nil
}

// getPackage is GET /packages/{packageId}.
func (s *Server) getPackage(_ http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, err := s.visiblePack(r.PathValue("packageId"), who)
	if err != nil {
		return nil, err
	}
	return p.answer(asRecord, s.opt.Now(), s.packageView)
}

// packageStatus is GET /packages/{packageId}/status.
func (s *Server) packageStatus(_ http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, err := s.visiblePack(r.PathValue("packageId"), who)
	if err != nil {
		return nil, err
	}
	return p.answer(asStatus, s.opt.Now(), s.statusView)
}

// sendPackage is POST /packages/send: select, add and draft become open.
func (s *Server) sendPackage(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	var body struct {
		PackageID string `json:"packageId"`
	}
	if err := readJSON(w, r, "package", &body); err != nil {
		return nil, err
	}
	return s.changeState(body.PackageID, who, func(p *pack, now time.Time) ([]event, error) {
		switch {
		case p.State != stateDraft && p.State != stateAdd && p.State != stateSelect:
			return nil, badRequest("package_invalid_state", "Only a draft can be sent.")
		case len(p.Documents) == 0:
			return nil, badRequest("package_add_no_documents", "An open package needs at least one document.")
		case len(p.Signers) == 0:
			return nil, badRequest("package_add_no_signers", "An open package needs at least one signer.")
		}
		p.State, p.TimeSent = stateOpen, &now
		return packageEvents(p, []string{actionSent}, now), nil
	})
}

// changeState changes a package that the caller may see, and answers with its id.
func (s *Server) changeState(id string, who caller, change func(p *pack, now time.Time) ([]event, error)) (any, error) {
	if _, err := s.visiblePack(id, who); err != nil {
		return nil, err
	}
	if err := s.changePack(id, change); err != nil {
		return nil, err
	}
	return map[string]string{"packageId": id}, nil
}

// signLink is POST /packages/{packageId}/link/sign/{signerId}.
func (s *Server) signLink(_ http.ResponseWriter, r *http.Request, who caller) (any, error) {
	p, err := s.visiblePack(r.PathValue("packageId"), who)
	if err != nil {
		return nil, err
	}
	sg, ok := p.signer(r.PathValue("signerId"))
	if !ok {
		return nil, notFound("signer")
	}
	if p.stateAt(s.opt.Now()) != stateOpen {
		return nil, badRequest("package_invalid_state", "The package is not open for signing.")
	}
	return map[string]any{
		"packageId": p.PackageID, "name": p.Name, "link": s.linkURL(sg.LinkToken), "type": "package_sign",
		"token": sg.LinkToken, "timeExpires": stampOrNil(p.TimeSignBy),
	}, nil
}

// listRequest is the body of packages/list. Teams and folders do not exist here.
type listRequest struct {
	MemberID   string   `json:"memberId"`
	AllMembers bool     `json:"allMembers"`
	Search     string   `json:"search"`
	Types      []string `json:"types"`
	States     []string `json:"states"`
	IsExecuted *bool    `json:"isExecuted"`
	Days       *int     `json:"days"`
	SortBy     string   `json:"sortBy"` // created, newest first; anything else is refused
	Take       *int     `json:"take"`
	Skip       int      `json:"skip"`
}

const (
	defaultTake = 50
	maxTake     = 500
)

// listPackages is POST /packages/list.
func (s *Server) listPackages(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	if !who.canUsePackages() {
		return nil, forbidden("package_not_authorized", "The organization or member scope is needed.")
	}
	var q listRequest
	if err := readJSON(w, r, "package", &q); err != nil {
		return nil, err
	}
	take := defaultTake
	if q.Take != nil {
		take = *q.Take
	}
	if take < 1 || take > maxTake || q.Skip < 0 {
		return nil, badRequest("package_range_take", "take must be between 1 and %d and skip must not be negative.", maxTake)
	}
	if q.SortBy != "" && q.SortBy != "created" {
		return nil, badRequest("package_invalid_sortBy", "Packages cannot be sorted by that.")
	}
	if (q.AllMembers || (q.MemberID != "" && q.MemberID != who.MemberID)) && !who.can("organization") {
		return nil, forbidden("package_not_authorized", "The packages of other members need the organization scope.")
	}
	now := s.opt.Now()
	all, err := s.packs()
	if err != nil {
		return nil, err
	}
	var found []*shelved
	for _, p := range all {
		if who.sees(&p.pack) && q.matches(&p.pack, who, now) {
			found = append(found, p)
		}
	}
	from, to := s.lists.part(found, q.Skip, take)
	answer := []byte(`{"items":[`)
	for i, p := range found[from:to] {
		item, err := p.answer(asItem, now, s.itemView)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			answer = append(answer, ',')
		}
		answer = append(answer, item...)
	}
	return json.RawMessage(fmt.Appendf(answer, `],"skip":%d,"take":%d,"total":%d}`, q.Skip, take, len(found))), nil
}

func (q *listRequest) matches(p *pack, who caller, now time.Time) bool {
	member := q.MemberID
	setDefault(&member, who.MemberID)
	switch {
	case !q.AllMembers && p.MemberID != member,
		len(q.Types) > 0 && !slices.Contains(q.Types, p.Type),
		len(q.States) > 0 && !slices.Contains(q.States, p.stateAt(now)),
		q.IsExecuted != nil && *q.IsExecuted != (p.State == stateExecuted),
		q.Days != nil && (p.TimeSignBy == nil || p.TimeSignBy.After(now.AddDate(0, 0, *q.Days))):
		return false
	}
	return p.mentions(q.Search)
}

// mentions reports whether the search finds the package.
func (p *pack) mentions(search string) bool {
	if search == "" {
		return true
	}
	text := []string{p.Name, p.Message, p.Description, string(p.ExternalData)}
	for _, d := range p.Documents {
		text = append(text, d.Name, d.FileName, string(d.ExternalID))
	}
	for _, sg := range p.Signers {
		text = append(text, sg.FirstName, sg.LastName, sg.Email)
	}
	return mentioned(search, text)
}

// mentioned reports whether every word of the search occurs in the text; a * at the end of a word matches any ending.
func mentioned(search string, text []string) bool {
	wanted := strings.Fields(strings.ToLower(search))
	all := strings.ToLower(strings.Join(text, " "))
	separators := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_@.*", r)
	}
	words := strings.FieldsFunc(all, separators)
	for _, w := range wanted {
		prefix, open := strings.CutSuffix(w, "*")
		ok := slices.ContainsFunc(words, func(word string) bool {
			return word == prefix || (open && strings.HasPrefix(word, prefix))
		})
		if !ok {
			return false
		}
	}
	return true
}
