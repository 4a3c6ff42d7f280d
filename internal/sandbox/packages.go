package sandbox

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"
)

// packageTypes are the constants of service-facts.md section 4.2. Here, all but Sequential are signed in any order.
var packageTypes = []string{"concurrent", typeSequential, "Counterpart", "video_closing_room", "Live Session"}

// maxName is the longest package name, in characters.
const maxName = 250

// addRequest is the body of packages/add (service-facts.md section 4.1).
type addRequest struct {
	Name          string          `json:"name"`
	Type          string          `json:"type"`
	State         string          `json:"state"`
	Message       string          `json:"message"`
	Description   string          `json:"description"`
	TimeSignBy    *string         `json:"timeSignBy"`
	ExternalData  json.RawMessage `json:"externalData"`
	ReturnPackage *bool           `json:"returnPackage"`
	Signers       []person        `json:"signers"`
	Recipients    []person        `json:"recipients"`
	Documents     []addDocument   `json:"documents"`
	TemplateID    string          `json:"templateId"`
}

type addDocument struct {
	FileID             string            `json:"fileId"`
	FileName           string            `json:"fileName"`
	Name               string            `json:"name"`
	ExternalID         json.RawMessage   `json:"externalId"`
	TemplateDocumentID string            `json:"templateDocumentId"`
	TemplateData       map[string]string `json:"templateData"`

	template *templateDocument // that it replaces, nil for none
}

type person struct {
	FirstName           string `json:"firstName"`
	LastName            string `json:"lastName"`
	Email               string `json:"email"`
	Type                string `json:"type"`
	TemplateRole        string `json:"templateRole"`
	TemplateSignerID    string `json:"templateSignerId"`
	TemplateRecipientID string `json:"templateRecipientId"`

	fromTemplate bool // the person comes from the template, not from the request
}

// addPackage is POST /packages/add.
func (s *Server) addPackage(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	if !who.canUsePackages() {
		return nil, forbidden("package_not_authorized", "The organization or member scope is needed.")
	}
	var body addRequest
	if err := readJSON(w, r, "package", &body); err != nil {
		return nil, err
	}
	now := s.opt.Now()
	if err := s.fromTemplate(&body, who); err != nil {
		return nil, err
	}
	p, err := newPack(&body, who, now)
	if err != nil {
		return nil, err
	}
	kinds := []string{actionAdd}
	if p.State == stateOpen {
		p.TimeSent = &now
		kinds = append(kinds, actionSent)
	}
	err = s.db.Update(func(tx *bolt.Tx) error {
		if err := s.takeFiles(tx, p, &body, who, now); err != nil {
			return err
		}
		if err := noteUse(tx, body.TemplateID, now); err != nil {
			return err
		}
		for _, sg := range p.Signers {
			if err := put(tx, bucketLinks, sg.LinkToken, link{p.PackageID, sg.SignerID}); err != nil {
				return err
			}
		}
		if err := s.putPack(tx, p); err != nil {
			return err
		}
		return s.delivery.enqueue(tx, p, packageEvents(p, now, kinds...))
	})
	if err != nil {
		return nil, err
	}
	return s.added(p, body.ReturnPackage == nil || *body.ReturnPackage), nil
}

// added is the answer in the requested shape.
func (s *Server) added(p *pack, full bool) any {
	if s.opt.Bare {
		return object{"organizationId": p.OrganizationID, "memberId": p.MemberID, "packageId": p.PackageID}
	}
	answer := object{"packageId": p.PackageID, "package": nil}
	if full {
		answer["package"] = s.packageView(p)
	}
	return answer
}

// newPack checks everything except the files.
func newPack(b *addRequest, who caller, now time.Time) (*pack, error) {
	p := &pack{
		PackageID: newID(), OrganizationID: who.OrganizationID, MemberID: who.MemberID,
		Name: strings.TrimSpace(b.Name), Type: b.Type, State: b.State, Message: b.Message, Description: b.Description,
		TemplateID: b.TemplateID, times: times{TimeCreated: now, TimeModified: now},
		Documents: []document{}, Signers: []signer{}, Recipients: []recipient{},
	}
	if string(b.ExternalData) != "null" {
		p.ExternalData = b.ExternalData
	}
	setDefault(&p.State, stateOpen) // the default is not documented; the signing guide omits the field and signs
	if err := checkHead(p, b, now); err != nil {
		return nil, err
	}
	return p, p.addPeople(b)
}

func checkHead(p *pack, b *addRequest, now time.Time) error {
	switch {
	case p.Name == "":
		return badRequest("package_invalid_name", "The name is missing.")
	case utf8.RuneCountInString(p.Name) > maxName:
		return badRequest("package_length_name", "The name is longer than %d characters.", maxName)
	case !slices.Contains(packageTypes, p.Type):
		return badRequest("package_invalid_type", "The type must be one of %s, in this casing.", strings.Join(packageTypes, ", "))
	case !slices.Contains([]string{stateDraft, stateOpen}, p.State):
		return badRequest("package_invalid_state", "The state must be draft or open.")
	case p.State == stateOpen && len(b.Documents) == 0:
		return badRequest("package_add_no_documents", "An open package needs at least one document.")
	case p.State == stateOpen && len(b.Signers) == 0:
		return badRequest("package_add_no_signers", "An open package needs at least one signer.")
	}
	if b.TimeSignBy == nil || *b.TimeSignBy == "" {
		return nil
	}
	by, err := time.Parse(time.RFC3339, *b.TimeSignBy)
	if err != nil {
		return badRequest("package_invalid_timeSignBy", "The timeSignBy is not an ISO 8601 time stamp.")
	}
	if !by.After(now) {
		return badRequest("package_range_timeSignBy", "The timeSignBy has passed.")
	}
	by = by.UTC()
	p.TimeSignBy = &by
	return nil
}

func (p *pack) addPeople(b *addRequest) error {
	signs := map[string]bool{}
	for i, in := range b.Signers {
		email, ok := bareAddress(in.Email)
		if !ok {
			return badRequest("signer_invalid_email", "The email address of signer %d is not one.", i+1)
		}
		signs[strings.ToLower(email)] = true
		p.Signers = append(p.Signers, signer{
			SignerID: newID(), FirstName: strings.TrimSpace(in.FirstName), LastName: strings.TrimSpace(in.LastName),
			Email: email, State: signerActive, LinkToken: newToken(),
		})
	}
	receives := map[string]bool{}
	for i, in := range b.Recipients {
		email, ok := bareAddress(in.Email)
		key := strings.ToLower(email)
		switch {
		case !ok:
			return badRequest("recipient_invalid_email", "The email address of recipient %d is not one.", i+1)
		case signs[key]:
			return badRequest("package_duplicate_recipients_signer", "%s is a signer and a recipient.", email)
		case receives[key]:
			return badRequest("package_duplicate_recipients", "%s is a recipient twice.", email)
		}
		receives[key] = true
		setDefault(&in.Type, recipientOpen)
		if !slices.Contains([]string{recipientOpen, recipientBlind}, in.Type) {
			return badRequest("recipient_invalid_type", "The type of recipient %d must be CC or BCC.", i+1)
		}
		p.Recipients = append(p.Recipients, recipient{in.FirstName, in.LastName, email, in.Type})
	}
	return nil
}

// bareAddress accepts user@host without a display name.
func bareAddress(text string) (string, bool) {
	text = strings.TrimSpace(text)
	a, err := mail.ParseAddress(text)
	return text, err == nil && a.Address == text && a.Name == ""
}

// takeFiles turns uploaded files into documents with one revision per signer.
func (s *Server) takeFiles(tx *bolt.Tx, p *pack, b *addRequest, who caller, now time.Time) error {
	for i, in := range b.Documents {
		f, err := s.fileOf(tx, in, who, now)
		if err != nil {
			return err
		}
		f.Used = true
		if err := put(tx, bucketFiles, f.FileID, f); err != nil {
			return err
		}
		d := document{
			DocumentID: newID(), FileID: f.FileID, Name: in.Name, FileName: in.FileName, ExternalID: f.ExternalID,
			Size: f.Size, Pages: f.Pages, TimeUploaded: f.TimeCreated, Revisions: []revision{}, Filled: filledIn(in),
		}
		if len(in.ExternalID) > 0 && string(in.ExternalID) != "null" {
			d.ExternalID = in.ExternalID
		}
		setDefault(&d.FileName, f.FileName)
		setDefault(&d.Name, strings.TrimSuffix(d.FileName, fileExt(d.FileName)))
		if utf8.RuneCountInString(d.Name) > maxName {
			return badRequest("document_length_name", "The name of document %d is longer than %d characters.", i+1, maxName)
		}
		for _, sg := range p.Signers {
			d.Revisions = append(d.Revisions, revision{RevisionID: newID(), SignerID: sg.SignerID})
		}
		p.Documents = append(p.Documents, d)
	}
	return nil
}

// fileOf is the file for a document: an uploaded one, or the template's own.
func (s *Server) fileOf(tx *bolt.Tx, in addDocument, who caller, now time.Time) (file, error) {
	if in.template != nil && in.FileID == "" {
		return s.ownFile(tx, in, who, now)
	}
	f, err := get[file](tx, bucketFiles, in.FileID)
	if err != nil || f.MemberID != who.MemberID || f.expired(now) {
		return file{}, notFound("file")
	}
	return f, nil
}

// fileExt is the extension of a name, at most five characters after the dot: "No. 4 of many things" has none.
func fileExt(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || len(name)-i > 6 || strings.ContainsRune(name[i:], ' ') {
		return ""
	}
	return name[i:]
}

// visiblePack is a package that the caller may see. It is shared, see shelf.
func (s *Server) visiblePack(id string, who caller) (*pack, error) {
	if !who.canUsePackages() {
		return nil, forbidden("package_not_authorized", "The organization or member scope is needed.")
	}
	if p := s.pack(id); p != nil && who.sees(p) {
		return p, nil
	}
	return nil, notFound("package")
}

// packageAnswer is GET /packages/{packageId} and the paths below it.
func (s *Server) packageAnswer(kind string, view func(*pack) object) call {
	return func(_ http.ResponseWriter, r *http.Request, who caller) (any, error) {
		p, err := s.visiblePack(r.PathValue("packageId"), who)
		if err != nil {
			return nil, err
		}
		return tell(s, p, kind, encoded(view)), nil
	}
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
	return object{
		"packageId": p.PackageID, "name": p.Name, "link": s.linkURL(sg.LinkToken), "type": "package_sign",
		"token": sg.LinkToken, "timeExpires": stampOrNil(p.TimeSignBy),
	}, nil
}

const (
	defaultTake = 50
	maxTake     = 500
)

// listQuery is the body of packages/list and templates/list, as far as it is supported (service-facts.md section 7). There
// are no teams and folders here.
type listQuery struct {
	AllMembers bool   `json:"allMembers"`
	Search     string `json:"search"` // templates only
	SortBy     string `json:"sortBy"`
	Take       *int   `json:"take"`
	Skip       int    `json:"skip"`
}

// readList reads a list query for a kind of object, with the sort orders that it supports.
func readList(w http.ResponseWriter, r *http.Request, who caller, kind string, sorts ...string) (q listQuery, take int, err error) {
	if !who.canUsePackages() {
		return q, 0, forbidden(kind+"_not_authorized", "The organization or member scope is needed.")
	}
	if err := readJSON(w, r, kind, &q); err != nil {
		return q, 0, err
	}
	take = defaultTake
	if q.Take != nil {
		take = *q.Take
	}
	switch {
	case take < 1 || take > maxTake || q.Skip < 0:
		return q, 0, badRequest(kind+"_range_take", "take must be between 1 and %d and skip must not be negative.", maxTake)
	case q.SortBy != "" && !slices.Contains(sorts, q.SortBy):
		return q, 0, badRequest(kind+"_invalid_sortBy", "The list cannot be sorted by that.")
	case q.AllMembers && !who.can("organization"):
		return q, 0, forbidden(kind+"_not_authorized", "What belongs to other members needs the organization scope.")
	}
	return q, take, nil
}

// listPackages is POST /packages/list, newest first.
func (s *Server) listPackages(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	q, take, err := readList(w, r, who, "package", "created")
	if err != nil {
		return nil, err
	}
	var found []*pack
	for _, p := range s.packs() {
		if who.sees(p) && (q.AllMembers || p.MemberID == who.MemberID) {
			found = append(found, p)
		}
	}
	from, to := s.lists.part(found, q.Skip, take)
	items := []json.RawMessage{}
	for _, p := range found[from:to] {
		items = append(items, tell(s, p, "item", encoded(s.itemView)))
	}
	return object{"items": items, "skip": q.Skip, "take": take, "total": len(found)}, nil
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

type object = map[string]any

// head has the fields common to all answers about a package.
func (p *pack) head(now time.Time) object {
	return object{
		"packageId": p.PackageID, "organizationId": p.OrganizationID, "memberId": p.MemberID, "name": p.Name, "type": p.Type,
		"state": p.stateAt(now), "timeSignBy": stampOrNil(p.TimeSignBy), "externalData": orNull(p.ExternalData),
		"isExecuted": p.State == stateExecuted,
	}
}

// with is o extended by more.
func with(o, more object) object {
	maps.Copy(o, more)
	return o
}

// packageView is the full record (service-facts.md section 7.1), as far as this service supports it.
func (s *Server) packageView(p *pack) object {
	now := s.opt.Now()
	signed, total := 0, 0
	documents, signers := []object{}, []object{}
	for i := range p.Documents {
		d := &p.Documents[i]
		signed, total = signed+d.signed(), total+len(d.Revisions)
		revisions := []object{}
		var before any
		for n, r := range d.Revisions {
			revisions = append(revisions, object{
				"documentId": d.DocumentID, "revisionId": r.RevisionID, "revisionNumber": n + 1, "revisionBeforeId": before,
				"signerId": r.SignerID, "isNext": p.isTurn(d, n, now), "isSigned": r.TimeSigned != nil, "timeSigned": stampOrNil(r.TimeSigned),
			})
			before = r.RevisionID
		}
		documents = append(documents, object{
			"documentId": d.DocumentID, "packageId": p.PackageID, "fileId": d.FileID, "externalId": orNull(d.ExternalID),
			"index": i, "name": d.Name, "fileName": d.FileName, "fileType": "pdf", "fileSize": d.Size, "numberPages": d.Pages,
			"timeUploaded": stamp(d.TimeUploaded), "revisionsSigned": d.signed(), "revisionsCount": len(d.Revisions),
			"cac": true, "isExecuted": d.TimeExecuted != nil, "timeExecuted": stampOrNil(d.TimeExecuted), "revisions": revisions,
		})
	}
	for i := range p.Signers {
		signers = append(signers, s.signerView(p, i, now))
	}
	return with(p.head(now), object{
		"message": p.Message, "description": p.Description, "rescindMessage": p.RescindMessage, "templateId": orNil(p.TemplateID),
		"timeCreated": stamp(p.TimeCreated), "timeLastModified": stamp(p.TimeModified),
		"timeRescinded": stampOrNil(p.TimeRescinded), "timeExecuted": stampOrNil(p.TimeExecuted),
		"revisionsSigned": signed, "revisionsCount": total,
		"api": true, "version": 4, "documents": documents, "signers": signers, "recipients": p.Recipients,
	})
}

func (s *Server) signerView(p *pack, i int, now time.Time) object {
	sg := &p.Signers[i]
	signed := 0
	for _, d := range p.Documents {
		for _, r := range d.Revisions {
			if r.SignerID == sg.SignerID && r.TimeSigned != nil {
				signed++
			}
		}
	}
	return object{
		"signerId": sg.SignerID, "packageId": p.PackageID, "index": i, "signerTag": "signer_" + strconv.Itoa(i+1),
		"firstName": sg.FirstName, "lastName": sg.LastName, "email": sg.Email, "mobileNumber": nil,
		"role": "signer", "type": "signer", "state": sg.State, "next": p.hasTurn(sg.SignerID, now),
		"revisionsSigned": signed, "revisionsCount": len(p.Documents),
		"declineReason": sg.DeclineReason, "timeDeclined": stampOrNil(sg.TimeDeclined), "timeCreated": stamp(p.TimeCreated),
	}
}

// statusView is the answer of packages/{packageId}/status: service-facts.md section 6, or interface.md alone.
func (s *Server) statusView(p *pack) object {
	now := s.opt.Now()
	documents, signers := []object{}, []object{}
	if s.opt.Bare {
		for _, d := range p.Documents {
			documents = append(documents, object{"documentId": d.DocumentID})
		}
		return object{"packageId": p.PackageID, "state": p.stateAt(now), "documents": documents}
	}
	for i := range p.Documents {
		d := &p.Documents[i]
		revisions := []object{}
		for n, r := range d.Revisions {
			revisions = append(revisions, object{
				"packageId": p.PackageID, "documentId": d.DocumentID, "revisionId": r.RevisionID, "signerId": r.SignerID,
				"isNext": p.isTurn(d, n, now), "isSigned": r.TimeSigned != nil,
			})
		}
		documents = append(documents, object{
			"packageId": p.PackageID, "documentId": d.DocumentID, "fileId": d.FileID, "externalId": orNull(d.ExternalID),
			"name": d.Name, "fileName": d.FileName, "order": i + 1, "isExecuted": d.TimeExecuted != nil, "revisions": revisions,
		})
	}
	for i, sg := range p.Signers {
		signers = append(signers, object{
			"signerId": sg.SignerID, "firstName": sg.FirstName, "lastName": sg.LastName, "email": sg.Email,
			"mobileNumber": nil, "order": i + 1, "links": []object{},
		})
	}
	return with(p.head(now), object{"documents": documents, "signers": signers})
}

// itemView is one entry of packages/list (service-facts.md section 7).
func (s *Server) itemView(p *pack) object {
	now := s.opt.Now()
	documents, signers := []object{}, []object{}
	for i, d := range p.Documents {
		documents = append(documents, object{
			"documentId": d.DocumentID, "externalId": orNull(d.ExternalID), "index": i, "name": d.Name, "fileName": d.FileName,
			"isExecuted": d.TimeExecuted != nil, "timeExecuted": stampOrNil(d.TimeExecuted),
		})
	}
	for i, sg := range p.Signers {
		signers = append(signers, object{
			"signerId": sg.SignerID, "index": i, "firstName": sg.FirstName, "lastName": sg.LastName, "email": sg.Email,
			"role": "signer", "type": "signer", "verify": nil, "isVerified": false,
			"isNext": p.hasTurn(sg.SignerID, now), "isExecuted": p.signedBy(sg.SignerID),
		})
	}
	return with(p.head(now), object{
		"timeCreated": stamp(p.TimeCreated), "timeLastModified": stamp(p.TimeModified), "timeExecuted": stampOrNil(p.TimeExecuted),
		"documents": documents, "signers": signers, "recipients": p.Recipients,
	})
}

func stampOrNil(t *time.Time) any {
	if t == nil {
		return nil
	}
	return stamp(*t)
}

// rescindPackage is POST /packages/rescind: it withdraws a sent package.
func (s *Server) rescindPackage(w http.ResponseWriter, r *http.Request, who caller) (any, error) {
	var body struct {
		PackageID      string `json:"packageId"`
		RescindMessage string `json:"rescindMessage"`
		Notify         bool   `json:"notify"`
	}
	if err := readJSON(w, r, "package", &body); err != nil {
		return nil, err
	}
	if _, err := s.visiblePack(body.PackageID, who); err != nil {
		return nil, err
	}
	return object{"packageId": body.PackageID}, s.Rescind(body.PackageID, body.RescindMessage, body.Notify)
}

// Rescind withdraws a package, as its sender can on the service's own pages. notify tells its people. What event the service
// sends, if any, is not documented: here it is named like the others.
func (s *Server) Rescind(packageID, message string, notify bool) error {
	return s.changePack(packageID, func(p *pack, now time.Time) ([]event, error) {
		if state := p.stateAt(now); state != stateOpen && state != stateExpired {
			return nil, badRequest("package_invalid_state", "Only a package that was sent and is not executed can be withdrawn.")
		}
		p.State, p.RescindMessage, p.TimeRescinded = stateRescinded, message, &now
		if notify {
			p.Notified = append(p.Notified, stateRescinded)
		}
		return packageEvents(p, now, actionRescinded), nil
	})
}

// ListHabits are oddities of packages/list that the interface does not rule out. The zero value has none of them.
type ListHabits struct {
	Order    string `json:"order"`     // of the list, whatever sortBy says: newest (or ""), oldest, or random, which is different for each page
	MostTake int    `json:"most_take"` // maximum items on a page, whatever take says; 0 for no limit
	NoSkip   bool   `json:"no_skip"`   // every page is the first one
	Shift    int    `json:"shift"`     // items added before each further page, which therefore repeats that many; negative: items removed, so that the page skips that many
}

// lists is how lists are answered. It may be used from any goroutine.
type lists struct {
	mu     sync.Mutex
	habits ListHabits
	pages  int // pages read since the last first page
}

// part sorts found, which is newest first, according to the habits, and returns the bounds of the page in it.
func (l *lists) part(found []*pack, skip, take int) (from, to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.habits
	sortPacks(found, h.Order)
	if h.MostTake > 0 {
		take = min(take, h.MostTake)
	}
	if skip == 0 {
		l.pages = 0
	}
	from = skip
	if skip > 0 && skip < len(found) {
		l.pages++
		from = max(0, skip-h.Shift*l.pages)
	}
	if h.NoSkip {
		from = 0
	}
	from = min(from, len(found))
	return from, min(len(found), from+take)
}

// sortPacks sorts by creation, newest first, unless order says otherwise.
func sortPacks(list []*pack, order string) {
	slices.SortFunc(list, func(a, b *pack) int {
		if order == "oldest" {
			a, b = b, a
		}
		return newestFirst(a, b)
	})
	if order == "random" {
		chance().Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
}
