package outbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// accepted records that the service has accepted d: the draft and its package in one commit.
func (r *Service) accepted(d office.Draft, added esign.Added) error {
	var line office.Activity
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.FirstPackage(apply.Cases(added.PackageID))
		if err != nil {
			return err
		}
		if !ok || !apply.SameAs(p, added.PackageID) { // its first event may have come before this answer
			p = office.Package{ID: added.PackageID, Created: r.Now(), Service: d.Service}
		}
		fromDraft(&p, d, office.When{Time: r.Now()})
		p.OrganizationID = cmp.Or(added.OrganizationID, p.OrganizationID)
		p.MemberID = cmp.Or(added.MemberID, p.MemberID)
		if added.Status != nil {
			apply.Status(&p, *added.Status, r.Now())
		}
		if p.NextCheck.IsZero() {
			p.NextCheck = r.Now()
		}
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		markSent(&d, p.ID, r.Now())
		if err := tx.PutDraft(d); err != nil {
			return err
		}
		if err := rememberPeople(tx, d.Signers); err != nil {
			return err
		}
		if err := r.deps.Used(tx, d); err != nil {
			return err
		}
		line = office.Activity{Time: r.Now(), Kind: "sent", PackageID: p.ID, Text: message.SentTo(p.DisplayName(), len(d.Signers))}
		return tx.AddActivity(line)
	})
	if err != nil {
		return fmt.Errorf("record the sent package %s: %w", added.PackageID, err)
	}
	r.Tell(line)
	r.row = row{}
	r.TellUnknown()
	r.deps.PackageAdded()
	for _, c := range []office.Change{office.OutboxChanged, office.PackagesChanged, office.StatusChanged} {
		r.Signal(c)
	}
	return nil
}

// fromDraft makes p a package that was made here, from d, and sent then.
func fromDraft(p *office.Package, d office.Draft, sent office.When) {
	p.Origin, p.DraftID, p.Folder = office.MadeHere, d.ID, d.Folder
	p.Name = cmp.Or(d.Name, p.Name)
	p.Sequential = d.Sequential
	if p.Due.IsZero() {
		p.Due = d.Due
	}
	if p.State == "" {
		p.State = office.PackageOpen
	}
	if p.ExternalData == nil {
		p.ExternalData = withCorrelation(d.ExternalData, d.ID)
	}
	if len(p.Signers) == 0 {
		p.Signers = withoutRoles(d.Signers)
	}
	if len(p.Recipients) == 0 {
		p.Recipients = append(p.Recipients, d.Recipients...)
	}
	known := map[string]int{}
	for i, x := range p.Documents {
		known[x.ExternalID] = i
	}
	for _, f := range d.Files {
		i, ok := known[f.ExternalID]
		if !ok && d.Template != nil {
			continue // it is one of several, and only the service knows the others
		}
		if !ok {
			p.Documents = append(p.Documents, office.Document{ExternalID: f.ExternalID})
			i = len(p.Documents) - 1
		}
		p.Documents[i].FileName = cmp.Or(f.Name, p.Documents[i].FileName)
	}
	p.AddHistory(office.HistoryEntry{Time: sent, What: office.EntrySent})
}

// Claim makes p a package of ours when its external data carries the id of one of our drafts. A draft whose outcome was
// unknown is thereby known to be sent; after the commit, call Wake. One that this installation has sent, and of which
// nothing is known any more, as after a restore, is ours without its draft. The caller stores p.
func (r *Service) Claim(tx *store.Tx, p *office.Package, data json.RawMessage) error {
	came := cameFrom(data)
	if came.draft == "" {
		return nil
	}
	d, ok, err := tx.Draft(came.draft)
	var ours bool
	if err == nil && !ok && came.installation != "" {
		var home string
		home, err = tx.Service()
		ours = came.installation == office.TagAt(cmp.Or(p.Service, home), r.deps.Installation())
	}
	if err == nil && (ok || ours) {
		var other office.Package
		var taken bool
		if other, taken, err = tx.PackageByDraft(came.draft); taken && other.ID != p.ID {
			return err
		}
		if err == nil && !ok {
			p.Origin, p.DraftID, p.Folder = office.MadeHere, came.draft, came.folder
			return nil
		}
	}
	if store.OfOneRecord(err) {
		return nil // a package whose draft cannot be read is followed and saved like one made elsewhere
	}
	if err != nil || !ok {
		return err
	}
	fromDraft(p, d, office.At(time.Time{}, r.Now()))
	// A queued draft has its answer still to come, or was sent by a life that ended before the answer was kept.
	// One that is held may have been sent in a time that a backup does not know.
	if d.State == office.DraftUnknown || d.State == office.DraftHeld || d.State == office.DraftQueued || d.State == office.DraftFailed {
		markSent(&d, p.ID, r.Now())
		if err := r.deps.Used(tx, d); err != nil {
			return err
		}
		return tx.PutDraft(d)
	}
	return nil
}

// correlationKey is the member of externalData that says what the package came from, so that it can be recognised in an
// event or a listing when the answer of packages/add was lost, or what was known of it.
const correlationKey = "countersign"

// source is what a package came from: a draft, of which installation, and which folder that sends; empty for none. The latter two
// are tags (office.TagAt). In externalData the three are parted by slashes.
type source struct{ draft, installation, folder string }

func (s source) String() string {
	return strings.TrimRight(s.draft+"/"+s.installation+"/"+s.folder, "/")
}

// sourceOf is what the package of d comes from.
func (r *Service) sourceOf(d office.Draft) source {
	return source{d.ID, office.TagAt(d.Service, r.deps.Installation()), office.TagAt(d.Service, d.Folder)}
}

// withCorrelation adds what a package came from to the caller's data, which stays readable under its own names.
func withCorrelation(data json.RawMessage, from string) json.RawMessage {
	members := map[string]json.RawMessage{}
	if office.HasExternalData(data) && json.Unmarshal(data, &members) != nil {
		members = map[string]json.RawMessage{"value": data}
	}
	members[correlationKey], _ = json.Marshal(from)
	out, _ := json.Marshal(members)
	return out
}

// cameFrom is what a package came from by its external data, or nothing. Some services hand the data back as a string that holds
// the JSON.
func cameFrom(data json.RawMessage) (s source) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		var inner string
		if json.Unmarshal(data, &inner) != nil || json.Unmarshal([]byte(inner), &members) != nil {
			return source{}
		}
	}
	var text string
	if json.Unmarshal(members[correlationKey], &text) != nil {
		return source{}
	}
	s.draft, text, _ = strings.Cut(text, "/")
	s.installation, s.folder, _ = strings.Cut(text, "/")
	return s
}
