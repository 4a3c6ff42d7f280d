package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// Office is what moves from one computer to another. It contains no sign-in and no pending downloads: the new computer signs in
// itself, and plans what to save in the folder chosen there.
type Office struct {
	Header   Header
	Digest   string          // of the source file
	Settings office.Settings // SaveTo is only for display
	Secrets  office.Secrets
	Account  Account
	Folders  []office.HotFolder
	People   []office.Signer
	Form     office.Form
	Presets  []office.FormPreset
	Packages []office.Package
	Drafts   []office.Draft
	Sent     []office.SentLines // lines of lists, which are not sent again
	Seen     []office.SeenFile  // what hot folders have sent, which is not sent again
	Record   []store.Record     // lines of the audit record
	Stamps   []json.RawMessage  // time stamps for it
	LeftOut  []message.Message  // content that was not accepted, for people
}

// Account is who was signed in, and since when anybody has been. It contains no credentials.
type Account struct {
	Email          string    `json:"email,omitempty"`
	OrganizationID string    `json:"organization_id,omitempty"`
	Since          time.Time `json:"since,omitzero"`
}

// WriteMove writes o, sealed with a password, with the copies of its drafts, whose paths bytesOf returns.
func WriteMove(w io.Writer, key safe.Key, o Office, bytesOf func(office.DraftFile) string) error {
	o.Header.Kind = Move
	out, err := Write(w, key, o.Header)
	if err != nil {
		return err
	}
	err = errors.Join(out.put(kindSettings, o.Settings), out.put(kindSecrets, o.Secrets), out.put(kindAccount, o.Account), out.put(kindForm, o.Form),
		putAll(out, kindFolder, o.Folders), putAll(out, kindPerson, o.People), putAll(out, kindPreset, o.Presets), putAll(out, kindStamp, o.Stamps), putAll(out, kindSent, o.Sent), putAll(out, kindSeen, o.Seen),
		putAll(out, store.KindPackage, o.Packages))
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
				continue // the reader would leave it out
			}
			doc, path := Document{Name: copyName(d, i), Size: f.Size, SHA256: f.SHA256}, bytesOf(f)
			if d.Files[i].Copy = doc.Name; errors.Is(doc.copyTo(io.Discard, path), errOtherBytes) {
				d.Files[i].Copy = "" // the reader leaves the draft out and says so
				continue
			}
			documents = append(documents, doc)
			paths = append(paths, path)
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

// copyName names the copy of a draft's file, as package outbox does.
func copyName(d office.Draft, i int) string { return fmt.Sprintf("%s-%d", d.ID, i+1) }

// ReadMove reads what another computer has written and accepts whatever can do no harm. The documents of its drafts are written to a
// folder, unless that is "".
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
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a kill: there are no drafts here yet
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
	needed map[string]Document // drafts' copies not read yet, by name
	ids    map[string]bool     // ids of packages and drafts
	here   map[string]string   // this computer's folder ids by the other computer's
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
	case kindSent:
		return decoded(r, func(x office.SentLines) error {
			if b, err := hex.DecodeString(x.Who); err != nil || len(b) == 0 {
				return fmt.Errorf("%w: lines that were sent", ErrDamaged)
			}
			m.Sent = append(m.Sent, x)
			return nil
		})
	case kindSeen:
		return decoded(r, func(x office.SeenFile) error {
			if b, err := hex.DecodeString(x.SHA256); err != nil || len(b) != sha256.Size {
				return fmt.Errorf("%w: a file that was sent", ErrDamaged)
			}
			m.Seen = append(m.Seen, office.SeenFile{SHA256: x.SHA256, Name: filename.File(x.Name)})
			return nil
		})
	case store.KindPackage:
		return decoded(r, m.addPackage)
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

// mostLeftOut limits how many omissions people are shown.
const mostLeftOut = 100

// leaveOut reports, once, that something was left out. The file controls how many there are, hence the limit.
func (m *moving) leaveOut(what message.Message) {
	if len(m.LeftOut) < mostLeftOut && !slices.Contains(m.LeftOut, what) {
		m.LeftOut = append(m.LeftOut, what)
	}
}

// person returns p without the ids and states of the other computer's service.
func person(p office.Signer) office.Signer {
	return office.Signer{FirstName: p.FirstName, LastName: p.LastName, Email: p.Email}
}

func people(list []office.Signer) (plain []office.Signer) {
	for _, p := range list {
		plain = append(plain, person(p))
	}
	return plain
}

// settings accepts what an administrator's file may contain, and how the program looks and notifies. Default recipients of copies,
// and other destinations of ngrok's traffic, must be set by a person.
func (m *moving) settings(x office.Settings) error {
	s := Shared{Settings: x}.Into(office.DefaultSettings())
	s.SaveTo, s.Index, s.KeepEvents, s.CheckUpdates = x.SaveTo, x.Index, x.KeepEvents, x.CheckUpdates
	s.NotifySettings, s.ProofSettings, s.LookSettings = x.NotifySettings, x.ProofSettings, x.LookSettings
	if s.Tunnel == office.TunnelOffice { // its key stays on the old computer
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

// account accepts since when the office exists: what was completed earlier is not fetched.
func (m *moving) account(x Account) error {
	m.Account = x
	if m.Account.Since.After(m.now) {
		m.Account.Since = m.now
	}
	return nil
}

// folder accepts a hot folder, paused until somebody has looked at it. Network paths are refused: the system contacts that computer
// whenever the path is used, with the credentials of the person signed in.
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

// addPackage accepts what is known of a package. Its downloads are planned here, and its current state is requested.
func (m *moving) addPackage(p office.Package) error {
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

// folderHere returns this computer's id of a package's or draft's folder, or empty if it was not brought over. id is the other
// computer's id of the folder, or its tag at the service.
func (m *moving) folderHere(service, id string) string {
	for there, here := range m.here {
		if id == there || id == office.TagAt(service, there) {
			return here
		}
	}
	return ""
}

// form returns the form's input or a preset, without documents.
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

// draft accepts a draft whose documents are in the file itself. It waits for a person, or until the service's list shows that it was
// sent.
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
		Corrects: d.Corrects, Delivery: office.Delivery{Replaces: d.Replaces}, CopyDefaults: office.CopyDefaults{NoCopy: slices.Clone(d.NoCopy)},
	}
	for _, s := range d.Signers {
		s.ID = ""
		kept.Signers = append(kept.Signers, s)
	}
	kept.Recipients = m.copies(d.Recipients)
	if t := kept.Template; t != nil {
		for i := range t.Documents {
			t.Documents[i].File = "" // the bytes are among the draft's files
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
		if f.Field != office.FieldSaveTo { // it is chosen here
			return fmt.Errorf("%w: its settings: %+v", ErrDamaged, f)
		}
	}
	if len(m.Record) == 0 && len(m.Packages) > 0 { // an office with packages has a record
		m.leaveOut(message.RecordLeftOut())
	}
	m.Drafts = slices.DeleteFunc(m.Drafts, func(d office.Draft) bool {
		missing := slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { _, missing := m.needed[f.Copy]; return missing })
		if missing {
			m.leaveOut(message.DraftLeftOut(d.Name))
		}
		return missing
	})
	moved := map[string]bool{}
	for _, d := range m.Drafts {
		moved[d.ID] = true
	}
	missing := func(id string) bool { return !moved[id] }
	for i := range m.Drafts {
		m.Drafts[i].Replaces = slices.DeleteFunc(m.Drafts[i].Replaces, missing)
	}
	m.Sent = slices.DeleteFunc(m.Sent, func(x office.SentLines) bool { return x.Draft != "" && missing(x.Draft) })
	return nil
}

// Shared is what an administrator hands to an office's people so that they need not type it: settings that belong to the office
// rather than to one computer. It contains no folder, path or other ngrok server: nothing from outside takes effect before it has
// been shown. The file is plain JSON, which administrators also make with their own tools.
type Shared struct {
	Settings     office.Settings
	ClientSecret string // empty unless the administrator included it
	DeskKey      string // key of the invited desk; empty except in an invitation
}

const (
	sharedFormat  = "countersign office"
	sharedVersion = 1
	maxShared     = 64 << 10 // bytes; real files have less than 1 KiB
)

// sharedForm is the file as JSON. Within a version, fields may be added but keep their meaning.
type sharedForm struct {
	Format       string          `json:"format"`
	Version      int             `json:"version"`
	Settings     office.Settings `json:"settings"` // what Into makes of empty settings
	ClientSecret string          `json:"client_secret,omitempty"`
	DeskKey      string          `json:"desk_key,omitempty"`
}

// IsShared reports whether a file's name is that of a settings file.
func IsShared(path string) bool { return strings.EqualFold(filepath.Ext(path), office.OwnEnding) }

// EncodeShared returns the contents of such a file.
func EncodeShared(o Shared) ([]byte, error) {
	if bad := o.check(); len(bad) > 0 {
		return nil, &office.ConfigError{Fields: bad}
	}
	b, err := json.MarshalIndent(sharedForm{sharedFormat, sharedVersion, Shared{Settings: o.Settings.Normal()}.Into(office.Settings{}), o.ClientSecret, o.DeskKey}, "", "  ")
	return append(b, '\n'), err
}

// WriteShared writes a new file that only its owner may read. It never replaces a file.
func WriteShared(path string, o Shared) error {
	b, err := EncodeShared(o)
	if err != nil {
		return err
	}
	err = private.WriteFile(path, disk.Create, private.From(bytes.NewReader(b)))
	if errors.Is(err, fs.ErrExist) {
		return message.Error(message.NameTaken(filepath.Base(path)), nil)
	}
	if err != nil {
		return message.Error(message.OfficeFileNotWritten(filepath.Base(path)), nil)
	}
	return nil
}

// ReadShared reads such a file and validates it like typed input. If it is invalid, the error is a message.Error.
func ReadShared(path string) (Shared, error) {
	name := filepath.Base(path)
	b, err := readShared(path)
	if err != nil {
		return Shared{}, message.Error(message.OfficeFileNotRead(name), nil)
	}
	return DecodeShared(name, b)
}

// DecodeShared validates the contents of such a file.
func DecodeShared(name string, b []byte) (Shared, error) {
	var form sharedForm
	if len(b) > maxShared || json.Unmarshal(b, &form) != nil || form.Format != sharedFormat || form.Version < 1 {
		return Shared{}, message.Error(message.OfficeFileForeign(name), nil)
	}
	if form.Version > sharedVersion {
		return Shared{}, message.Error(message.OfficeFileNewer(name), nil)
	}
	o := Shared{Shared{Settings: form.Settings}.Into(office.DefaultSettings()).Normal(), strings.TrimSpace(form.ClientSecret), strings.TrimSpace(form.DeskKey)}
	if bad := o.check(); len(bad) > 0 {
		return Shared{}, message.Error(message.Then(message.OfficeFileUnusable(name), bad[0].Text), nil)
	}
	return o, nil
}

// readShared reads slightly more than the limit, to detect a file that is too large.
func readShared(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxShared+1))
	return bytes.TrimPrefix(b, []byte("\ufeff")), err
}

// check returns what is wrong with the file, ignoring what it leaves to each computer and person.
func (o Shared) check() (bad []office.FieldError) {
	bad = append(bad, office.Secrets{ClientSecret: o.ClientSecret, DeskKey: o.DeskKey}.Normal().Check()...)
	s := o.Settings.Normal()
	if s.Tunnel == office.TunnelLoopback { // only for the demo
		bad = append(bad, office.Finding(office.FieldTunnel, office.CodeChoice))
	}
	for _, f := range s.Check() {
		if f.Field != office.FieldSaveTo && (f.Field != office.FieldClientID || s.ClientID != "") {
			bad = append(bad, f)
		}
	}
	return bad
}

// Into returns s with the file's settings. Settings that are not part of such files stay.
func (o Shared) Into(s office.Settings) office.Settings {
	x := o.Settings
	if x.Tunnel == office.TunnelOffice && s.Tunnel == office.TunnelOffice && x.AuthURL == s.AuthURL && x.BaseURL == s.BaseURL && x.ClientID == s.ClientID {
		s.Office, s.OfficePin = x.Office, x.OfficePin // already a desk: the hub has changed, or has renewed the invitation
		return s
	}
	s.ServiceSettings, s.Redirect, s.RedirectURI = x.ServiceSettings, x.Redirect, x.RedirectURI
	s.Tunnel, s.NgrokDomain, s.PublicURL, s.Listen = x.Tunnel, x.NgrokDomain, x.PublicURL, x.Listen
	if x.Tunnel == office.TunnelOffice {
		s.Office, s.OfficePin, s.OfficeListen = x.Office, x.OfficePin, ""
	}
	s.NameTemplate, s.SaveCAC, s.SaveMaster = x.NameTemplate, x.SaveCAC, x.SaveMaster
	return s
}
