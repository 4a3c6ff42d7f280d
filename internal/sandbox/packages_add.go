package sandbox

import (
	"encoding/json"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"
)

// packageTypes are the constants of service-facts.md section 4.2. All but Sequential are signed in any order here.
var packageTypes = []string{"concurrent", typeSequential, "Counterpart", "video_closing_room", "Live Session"}

// maxName is the longest package name, in characters.
const maxName = 250

// addRequest is the body of packages/add (service-facts.md section 4.1).
type addRequest struct {
	Name                string          `json:"name"`
	Type                string          `json:"type"`
	State               string          `json:"state"`
	MemberID            string          `json:"memberId"`
	Message             string          `json:"message"`
	Description         string          `json:"description"`
	TimeSignBy          *string         `json:"timeSignBy"`
	ExternalData        json.RawMessage `json:"externalData"`
	GenerateSignerLinks bool            `json:"generateSignerLinks"`
	ReturnPackage       *bool           `json:"returnPackage"`
	Signers             []person        `json:"signers"`
	Recipients          []person        `json:"recipients"`
	Documents           []addDocument   `json:"documents"`
	TemplateID          string          `json:"templateId"`
}

type addDocument struct {
	FileID             string            `json:"fileId"`
	FileName           string            `json:"fileName"`
	Name               string            `json:"name"`
	ExternalID         json.RawMessage   `json:"externalId"`
	TemplateDocumentID string            `json:"templateDocumentId"`
	TemplateData       map[string]string `json:"templateData"`

	template *templateDocument // whose place it has, nil for none
}

type person struct {
	FirstName           string `json:"firstName"`
	LastName            string `json:"lastName"`
	Email               string `json:"email"`
	Type                string `json:"type"`
	TemplateRole        string `json:"templateRole"`
	TemplateSignerID    string `json:"templateSignerId"`
	TemplateRecipientID string `json:"templateRecipientId"`

	fromTemplate bool // nobody named this person for the package
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
	p, err := s.newPack(&body, who, now)
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
		return s.delivery.enqueue(tx, p, packageEvents(p, kinds, now))
	})
	if err != nil {
		return nil, err
	}
	s.playSigners(p)
	return s.added(p, body.ReturnPackage == nil || *body.ReturnPackage), nil
}

// added is the answer in the shape that is asked for.
func (s *Server) added(p *pack, full bool) any {
	if s.opt.Bare {
		return map[string]any{"organizationId": p.OrganizationID, "memberId": p.MemberID, "packageId": p.PackageID}
	}
	answer := map[string]any{"packageId": p.PackageID, "package": nil}
	if full {
		answer["package"] = s.packageView(p)
	}
	return answer
}

// newPack checks everything but the files.
func (s *Server) newPack(b *addRequest, who caller, now time.Time) (*pack, error) {
	p := &pack{
		PackageID: newID(), OrganizationID: who.OrganizationID, MemberID: who.MemberID,
		Name: strings.TrimSpace(b.Name), Type: b.Type, State: b.State, Message: b.Message, Description: b.Description,
		TemplateID: b.TemplateID, SignerLinks: b.GenerateSignerLinks, TimeCreated: now, TimeModified: now,
		Documents: []document{}, Signers: []signer{}, Recipients: []recipient{},
	}
	if string(b.ExternalData) != "null" {
		p.ExternalData = b.ExternalData
	}
	setDefault(&p.State, stateOpen) // the default is not documented; the signing guide leaves the field out and signs
	if err := checkHead(p, b, now); err != nil {
		return nil, err
	}
	if b.MemberID != "" && b.MemberID != who.MemberID {
		if !who.can("organization") || !s.isMember(b.MemberID, who.OrganizationID) {
			return nil, forbidden("package_not_authorized", "Packages can be added for this member only.")
		}
		p.MemberID = b.MemberID
	}
	if err := p.addPeople(b); err != nil {
		return nil, err
	}
	return p, nil
}

func (s *Server) isMember(memberID, organizationID string) bool {
	return slices.ContainsFunc(s.opt.Users, func(u User) bool {
		return u.MemberID == memberID && u.OrganizationID == organizationID
	})
}

func checkHead(p *pack, b *addRequest, now time.Time) error {
	switch {
	case p.Name == "":
		return badRequest("package_invalid_name", "The name is missing.")
	case utf8.RuneCountInString(p.Name) > maxName:
		return badRequest("package_length_name", "The name is longer than %d characters.", maxName)
	case !slices.Contains(packageTypes, p.Type):
		return badRequest("package_invalid_type", "The type must be one of %s, in this casing.", strings.Join(packageTypes, ", "))
	case !slices.Contains([]string{stateDraft, stateOpen, stateAdd, stateSelect}, p.State):
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

// bareAddress accepts user@host alone, without a display name.
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

// fileOf is the file that a document is made of: one that was uploaded, or the template's own.
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

// fileExt is the ending of a name, at most five characters after the dot: "No. 4 of many things" has none.
func fileExt(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || len(name)-i > 6 || strings.ContainsRune(name[i:], ' ') {
		return ""
	}
	return name[i:]
}
