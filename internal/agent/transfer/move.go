package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// Office is what moves from one computer to another. There is no sign-in in it, and no file that is to be saved: the new computer signs
// in anew, and plans for itself what goes into the folder that is chosen there.
type Office struct {
	Header   Header
	Digest   string          // of the file that it was read from
	Settings office.Settings // SaveTo is for showing alone
	Secrets  office.Secrets
	Account  Account
	Folders  []office.HotFolder
	People   []office.Signer
	Form     office.Form
	Presets  []office.FormPreset
	Packages []office.Package
	Drafts   []office.Draft
	Record   []store.Record    // lines of the record of what happened
	Stamps   []json.RawMessage // what authorities said of it
	LeftOut  []message.Message // what was in the file and is not believed, for people
}

// Account is who was signed in, and since when there is somebody. It holds nothing by which anybody is.
type Account struct {
	Email          string    `json:"email,omitempty"`
	OrganizationID string    `json:"organization_id,omitempty"`
	Since          time.Time `json:"since,omitzero"`
}

// WriteMove writes o for whoever has the password, with the copies of its drafts, whose paths bytesOf names.
func WriteMove(w io.Writer, key safe.Key, o Office, bytesOf func(office.DraftFile) string) error {
	o.Header.Kind = Move
	out, err := Write(w, key, o.Header)
	if err != nil {
		return err
	}
	err = errors.Join(out.put(kindSettings, o.Settings), out.put(kindSecrets, o.Secrets), out.put(kindAccount, o.Account), out.put(kindForm, o.Form),
		putAll(out, kindFolder, o.Folders), putAll(out, kindPerson, o.People), putAll(out, kindPreset, o.Presets), putAll(out, kindStamp, o.Stamps), putAll(out, store.KindPackage, o.Packages))
	if err != nil {
		return err
	}
	for _, r := range o.Record {
		if err := out.Put(r); err != nil {
			return err
		}
	}
	var documents []Document
	var paths []string
	for _, d := range o.Drafts {
		d = d.Clone()
		for i, f := range d.Files {
			if f.Copy == "" || f.SHA256 == "" {
				continue // which the reader leaves out
			}
			d.Files[i].Copy = copyName(d, i)
			documents = append(documents, Document{Name: d.Files[i].Copy, Size: f.Size, SHA256: f.SHA256})
			paths = append(paths, bytesOf(f))
		}
		if err := out.put(store.KindDraft, d); err != nil {
			return err
		}
	}
	for i, d := range documents {
		if err := out.Document(d, paths[i]); err != nil {
			return err
		}
	}
	return out.Close()
}

func putAll[T any](out *Writer, kind store.Kind, list []T) error {
	for _, x := range list {
		if err := out.put(kind, x); err != nil {
			return err
		}
	}
	return nil
}

// copyName is what the copy of a file of a draft is called, as package outbox does.
func copyName(d office.Draft, i int) string { return fmt.Sprintf("%s-%d", d.ID, i+1) }

// ReadMove reads what another computer has written, and believes of it what can do no harm. The documents of its drafts are
// written into a folder, unless that is "".
func ReadMove(r io.Reader, password string, now time.Time, documents string) (o Office, err error) {
	m := &moving{Office: &o, now: now, needed: map[string]Document{}, ids: map[string]bool{}, here: map[string]string{}}
	o.Header, o.Digest, err = Read(r, safe.Password(password), Move, Reading{Record: m.record, Document: func(d Document, in io.Reader) error {
		if want, ok := m.needed[d.Name]; !ok || want != d {
			return fmt.Errorf("%w: a document that no draft needs", ErrDamaged)
		}
		delete(m.needed, d.Name)
		if documents == "" {
			return nil
		}
		path := filepath.Join(documents, d.Name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // what a kill has left: there are no drafts here
			return err
		}
		return private.WriteFile(path, disk.Create, private.From(in))
	}})
	if err != nil {
		return Office{}, err
	}
	return o, m.finish()
}

type moving struct {
	*Office
	now    time.Time
	needed map[string]Document // the copies of drafts that were not read yet, by their names
	ids    map[string]bool     // of packages and drafts
	here   map[string]string   // the ids of folders, by those on the other computer
}

func (m *moving) record(r store.Record) error {
	switch r.Kind {
	case kindSettings:
		return decoded(r, m.settings)
	case kindSecrets:
		return decoded(r, func(x office.Secrets) error { m.Secrets = x.Normal(); return nil })
	case kindAccount:
		return decoded(r, m.account)
	case kindFolder:
		return decoded(r, m.folder)
	case kindPerson:
		return decoded(r, func(p office.Signer) error {
			if office.IsAddress(p.Email) {
				m.People = append(m.People, person(p))
			}
			return nil
		})
	case kindForm:
		return decoded(r, func(f office.Form) error { m.Form = m.form(f); return nil })
	case kindPreset:
		return decoded(r, func(x office.FormPreset) error {
			m.Presets = office.WithPreset(m.Presets, office.FormPreset{Name: message.OneLine(x.Name, office.MaxName), Form: m.form(x.Form)})
			return nil
		})
	case kindStamp:
		m.Stamps = append(m.Stamps, r.JSON)
		return nil
	case store.KindPackage:
		return decoded(r, m.aPackage)
	case store.KindDraft:
		return decoded(r, m.draft)
	case store.KindLogged:
		m.Record = append(m.Record, r)
		return nil
	}
	return fmt.Errorf("%w: a record of the kind %q", ErrDamaged, r.Kind)
}

func decoded[T any](r store.Record, take func(T) error) error {
	var v T
	if err := json.Unmarshal(r.JSON, &v); err != nil {
		return fmt.Errorf("%w: a record of the kind %q: %w", ErrDamaged, r.Kind, err)
	}
	return take(v)
}

// mostLeftOut is how many lines people are shown of what is left out.
const mostLeftOut = 100

// leaveOut says, once, that something is left out. A file decides how many lines there are.
func (m *moving) leaveOut(what message.Message) {
	if len(m.LeftOut) < mostLeftOut && !slices.Contains(m.LeftOut, what) {
		m.LeftOut = append(m.LeftOut, what)
	}
}

// person is p without what another computer's service called it.
func person(p office.Signer) office.Signer {
	return office.Signer{FirstName: p.FirstName, LastName: p.LastName, Email: p.Email}
}

func people(list []office.Signer) (plain []office.Signer) {
	for _, p := range list {
		plain = append(plain, person(p))
	}
	return plain
}

// settings takes what an administrator's file may say, and how the program looks and tells. Whoever gets a copy of everything, and
// where else ngrok's traffic goes, is for a person to set.
func (m *moving) settings(x office.Settings) error {
	s := Shared{Settings: x}.Into(office.DefaultSettings())
	s.SaveTo, s.Index, s.KeepEvents, s.CheckUpdates = x.SaveTo, x.Index, x.KeepEvents, x.CheckUpdates
	s.NotifySettings, s.ProofSettings, s.LookSettings = x.NotifySettings, x.ProofSettings, x.LookSettings
	if s.Tunnel == office.TunnelOffice { // whose key stays on the old computer
		s.TunnelSettings = office.TunnelSettings{Tunnel: office.TunnelNone}
	}
	if x.IsHub() || x.Tunnel == office.TunnelOffice {
		m.leaveOut(message.HubLeftOut())
	}
	m.Settings = s.Normal()
	if copies := slices.Concat(x.CopyTo, x.BlindCopyTo); len(copies) > 0 {
		m.leaveOut(message.CopiesLeftOut(strings.Join(copies, ", ")))
	}
	if x.NgrokConnectURL != "" || x.NgrokCA != "" {
		m.leaveOut(message.NgrokServerLeftOut())
	}
	return nil
}

// account takes since when there is an office: what was finished before is not fetched.
func (m *moving) account(x Account) error {
	m.Account = x
	if m.Account.Since.After(m.now) {
		m.Account.Since = m.now
	}
	return nil
}

// folder takes a folder that sends, which sends nothing before somebody has looked at it. One on another computer is asked for by
// the system whenever it is named, with the password of whoever is signed in to it.
func (m *moving) folder(f office.HotFolder) error {
	f = f.Normal()
	if len(f.Check()) > 0 || strings.HasPrefix(f.Path, `\\`) || strings.HasPrefix(f.Path, "//") {
		m.leaveOut(message.FolderLeftOut(f.Path))
		return nil
	}
	there := f.ID
	f.ID, f.By, f.Paused = uuid.NewString(), "", true
	m.here[there] = f.ID
	m.Folders = append(m.Folders, f)
	return nil
}

// aPackage takes what is known of a package. What is to be saved of it is planned here, and what may have happened since is asked for.
func (m *moving) aPackage(p office.Package) error {
	if p.ID == "" || m.ids[p.ID] || p.DraftID != "" && uuid.Validate(p.DraftID) != nil || p.ExternalData != nil && !json.Valid(p.ExternalData) {
		return fmt.Errorf("%w: a package", ErrDamaged)
	}
	m.ids[p.ID] = true
	if p.Withdrawal.Pending() {
		m.leaveOut(message.WithdrawAgain(p.DisplayName()))
		p.Withdrawal = nil
	}
	p.Folder = m.folderHere(p.Service, p.Folder)
	p.Problem, p.Planned = message.Message{}, p.Planned && p.Saved
	m.Packages = append(m.Packages, p)
	return nil
}

// folderHere is the folder that a package or draft came from, by its id on this computer; empty for none that was brought over
// before it. On the other computer it has that id, or that tag at the service.
func (m *moving) folderHere(service, id string) string {
	for there, here := range m.here {
		if id == there || id == office.TagAt(service, there) {
			return here
		}
	}
	return ""
}

// form is what was typed or kept, without documents.
func (m *moving) form(f office.Form) office.Form {
	return office.Form{Name: f.Name, Message: f.Message, Due: f.Due, Reference: f.Reference, Sequential: f.Sequential, Signers: people(f.Signers),
		Recipients: m.copies(f.Recipients)}
}

func (m *moving) copies(list []office.Recipient) (open []office.Recipient) {
	for _, r := range list {
		if r.Blind {
			m.leaveOut(message.CopiesLeftOut(r.Address()))
		} else {
			open = append(open, r)
		}
	}
	return open
}

// draft takes one whose documents are in the file itself. It waits for a person, or until the service's list shows that it was sent.
func (m *moving) draft(d office.Draft) error {
	if id, err := uuid.Parse(d.ID); err != nil || id.String() != d.ID || m.ids[d.ID] || d.ExternalData != nil && !json.Valid(d.ExternalData) {
		return fmt.Errorf("%w: a draft", ErrDamaged)
	}
	m.ids[d.ID] = true
	if !slices.Contains(office.DraftsWaiting, d.State) {
		return nil
	}
	kept := office.Draft{
		ID: d.ID, Name: d.Name, Message: d.Message, Sequential: d.Sequential, Due: d.Due, ExternalData: d.ExternalData, State: d.State,
		Created: d.Created, Template: d.Template.Clone(), Folder: m.folderHere(d.Service, d.Folder),
	}
	for _, s := range d.Signers {
		s.ID = ""
		kept.Signers = append(kept.Signers, s)
	}
	kept.Recipients = m.copies(d.Recipients)
	if t := kept.Template; t != nil {
		for i := range t.Documents {
			t.Documents[i].File = "" // the file itself is among those of the draft
		}
	}
	for i, f := range d.Files {
		if f.Copy != copyName(d, i) || f.SHA256 == "" || f.Size < 0 {
			m.leaveOut(message.DraftLeftOut(d.Name))
			return nil
		}
		kept.Files = append(kept.Files, office.DraftFile{
			Copy: f.Copy, Name: filename.File(f.Name), Size: f.Size, SHA256: f.SHA256, ExternalID: f.ExternalID, Original: f.Original,
		})
	}
	for _, f := range kept.Files {
		m.needed[f.Copy] = Document{Name: f.Copy, Size: f.Size, SHA256: f.SHA256}
	}
	m.Drafts = append(m.Drafts, kept)
	return nil
}

func (m *moving) finish() error {
	for _, f := range slices.Concat(m.Settings.Check(), m.Secrets.Check()) {
		if f.Field != office.FieldSaveTo { // which is chosen here
			return fmt.Errorf("%w: its settings: %+v", ErrDamaged, f)
		}
	}
	if len(m.Record) == 0 && len(m.Packages) > 0 { // which logs
		m.leaveOut(message.RecordLeftOut())
	}
	m.Drafts = slices.DeleteFunc(m.Drafts, func(d office.Draft) bool {
		missing := slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { _, missing := m.needed[f.Copy]; return missing })
		if missing {
			m.leaveOut(message.DraftLeftOut(d.Name))
		}
		return missing
	})
	return nil
}
