package office

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
)

// Origin says where a package was made.
type Origin string

const (
	MadeHere      Origin = "here"
	MadeElsewhere Origin = "elsewhere"
)

type Signer struct {
	ID        string `json:"id,omitempty"` // signerId, empty until the service has supplied it
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Email     string `json:"email,omitempty"`
	Locale    string `json:"locale,omitempty"` // "de", "fr-CA"; empty if unknown

	Declined      When   `json:"declined,omitzero"` // when the person refused to sign
	DeclineReason string `json:"decline_reason,omitempty"`

	// Role and RoleID are this person's role in the template from which a draft is made, by name and id.
	Role   string `json:"role,omitempty"`
	RoleID string `json:"role_id,omitempty"`
}

type Document struct {
	ID         string    `json:"id,omitempty"` // documentId
	Name       string    `json:"name,omitempty"`
	FileName   string    `json:"file_name,omitempty"`
	ExternalID string    `json:"external_id,omitempty"`
	Executed   bool      `json:"executed,omitempty"`
	SignedBy   []string  `json:"signed_by,omitempty"`     // signerIds, in the order in which they signed
	Signers    []string  `json:"signers,omitempty"`       // signerIds of those who sign it; empty for everybody, as far as is known
	Unlisted   time.Time `json:"unlisted_since,omitzero"` // since when the service's answers that name all documents have lacked it
	Lacked     int       `json:"lacked,omitempty"`        // how many such answers, in a row
}

// PackageState is the state of a package, in the service's word (service-facts.md, 5). New words may appear. They are kept
// in lower case and without surrounding space.
type PackageState string

const (
	PackageDraft     PackageState = "draft"
	PackageOpen      PackageState = "open"
	PackageExecuted  PackageState = "executed" // signed by everyone
	PackageExpired   PackageState = "expired"
	PackageRescinded PackageState = "rescinded"
)

// Normal returns the state in the form in which it is stored and compared.
func (s PackageState) Normal() PackageState {
	return PackageState(strings.ToLower(strings.TrimSpace(string(s))))
}

// UnmarshalJSON normalizes the word: records may also come from another computer.
func (s *PackageState) UnmarshalJSON(b []byte) error {
	var word string
	err := json.Unmarshal(b, &word)
	*s = PackageState(word).Normal()
	return err
}

// Home is the service to which a record belongs.
type Home struct {
	Service string `json:"service,omitempty"` // as UseService names it
	Away    bool   `json:"away,omitempty"`    // it is not the service in use; set by the store
}

// Package is what is known about a package of the organization.
type Package struct {
	ID         string         `json:"id"`
	Name       string         `json:"name,omitempty"`
	Origin     Origin         `json:"origin"`
	State      PackageState   `json:"state,omitempty"`
	Sequential bool           `json:"sequential,omitempty"`
	Signers    []Signer       `json:"signers,omitempty"`
	Former     []Signer       `json:"former,omitempty"`     // who was to sign and no longer is, for their names in the history
	Recipients []Recipient    `json:"recipients,omitempty"` // who gets a copy
	Documents  []Document     `json:"documents,omitempty"`
	Created    time.Time      `json:"created"`       // when it was made; see Made
	Met        bool           `json:"met,omitempty"` // Created is when this computer first saw it, because the service did not say when it was made
	Due        time.Time      `json:"due,omitzero"`
	Executed   When           `json:"executed,omitzero"`
	History    []HistoryEntry `json:"timeline,omitempty"`
	Archived   *Archived      `json:"archived,omitempty"` // removed from the list; nil while it is listed
	Withdrawal *Withdrawal    `json:"withdrawal,omitempty"`
	Source
	Signing
	Inquiry
	Saving
	Home
}

// Source says where a package comes from, and what its sender calls it.
type Source struct {
	DraftID        string          `json:"draft_id,omitempty"` // the draft it was sent from, if made here
	Folder         string          `json:"folder,omitempty"`   // the watched folder it came from, by HotFolder.ID or its tag at the service
	OrganizationID string          `json:"organization_id,omitempty"`
	MemberID       string          `json:"member_id,omitempty"`
	ExternalData   json.RawMessage `json:"external_data,omitempty"`
	Reference      string          `json:"reference,omitempty"` // the sender's own reference, from ExternalData
}

// Signing is the progress of signing, and whose turn it is.
type Signing struct {
	NextSigners  []string `json:"next_signers,omitempty"` // signerIds whose turn it is according to the service's last word; see Next
	Turns        []Turn   `json:"turns,omitempty"`        // who signs after whom, until every signer's id is known
	SignersDone  int      `json:"signers_done,omitempty"`
	SignersTotal int      `json:"signers_total,omitempty"` // 0 while unknown
}

// Inquiry is what the service was asked about a package, and what it must still be asked.
type Inquiry struct {
	Checked       time.Time `json:"checked,omitzero"`        // time of the last status answer
	NextCheck     time.Time `json:"next_check,omitzero"`     // when to ask again
	Events        int       `json:"events,omitempty"`        // number of handled events: an answer requested before the last of them may be outdated
	Arrived       bool      `json:"arrived,omitempty"`       // an event was handled since it was asked about
	RecordPending time.Time `json:"record_pending,omitzero"` // since when its full record, or its status again, which may say more, is to be requested
	Heard         time.Time `json:"heard,omitzero"`          // when the service last said which signers had declined
	Gone          bool      `json:"gone,omitempty"`          // the service has not shown it for a while; it is still asked for
	Restored      time.Time `json:"restored,omitzero"`       // when it was restored from a backup, until the service has reported what happened since
}

// Saving is the progress of saving the files of a package.
type Saving struct {
	Planned bool            `json:"planned,omitempty"` // save jobs exist for all of its documents
	Saved   bool            `json:"saved,omitempty"`   // every wanted file is on disk
	Sealed  bool            `json:"sealed,omitempty"`  // see AllSealed
	Astray  bool            `json:"astray,omitempty"`  // a check found a saved file missing or changed, see SavedFile
	Refused time.Time       `json:"refused,omitzero"`  // since when the service has withheld what is needed to save its files
	Problem message.Message `json:"problem,omitzero"`  // what keeps its files from being saved
}

// AtOnce is the NextCheck of a package that people are waiting for: it comes before all that are overdue.
var AtOnce = time.Unix(1, 0).UTC()

// Over reports whether nobody can sign it any more (service-facts.md, 5), unless it is reopened.
func (s PackageState) Over() bool {
	return s == PackageExpired || s == PackageRescinded
}

// Unsent reports whether it is not sent yet: somebody is still completing it in the service's own editor.
func (s PackageState) Unsent() bool { return s == PackageDraft || s == "add" || s == "select" }

// Final reports whether the service need not be asked about p again: it is executed, its files are planned and no document may be
// listed late, or nobody can sign it any more, and no record or further answer is needed. A package that the service does not show
// is never final.
func (p Package) Final() bool {
	return (p.State.Over() || p.State == PackageExecuted && p.Planned && p.Unlisted().IsZero()) && p.RecordPending.IsZero()
}

// Unlisted returns since when the service has not listed a document of p, which it may list late; zero for none.
func (p Package) Unlisted() (since time.Time) {
	for _, d := range p.Documents {
		if !d.Unlisted.IsZero() && (since.IsZero() || d.Unlisted.Before(since)) {
			since = d.Unlisted
		}
	}
	return since
}

// Derived is p as it must be stored: with fields computed from others, and with texts that are safe to show anywhere.
func (p Package) Derived() Package {
	p.SignersDone, p.SignersTotal = p.Progress()
	p.Reference = ReferenceIn(p.ExternalData)
	p.Archived = p.stillArchived()
	p.cleanNames()
	if w := p.Withdrawal; w.Wished() && !w.Undoable() {
		p.AddHistory(HistoryEntry{Time: When{Time: w.Asked}, What: EntryWished, Ref: w.By})
	}
	p.History = p.narrowed()
	return p
}

// NamesToCome reports whether the service is about to be asked for the names of p and its people.
func (p Package) NamesToCome() bool {
	return p.Checked.IsZero() || !p.Final() && (p.NextCheck.Equal(AtOnce) || !p.RecordPending.IsZero() && !p.State.Over())
}

// WithheldAfter is how long the service may withhold a completely signed package before people are told.
const WithheldAfter = time.Hour

// RefusedFor is how long something has been refused. It sets *refused, the beginning, to now if it is zero, or in the future
// because of a wrong clock.
func RefusedFor(refused *time.Time, now time.Time) time.Duration {
	if refused.IsZero() || refused.After(now) {
		*refused = now
	}
	return now.Sub(*refused)
}

// Archived marks a package that people have removed from their list.
type Archived struct {
	With []string `json:"with,omitempty"` // what was wrong with it then: anything else brings it back
}

// Archive removes p from the list, or puts it back.
func (p *Package) Archive(archived bool) {
	p.Archived = nil
	if archived {
		p.Archived = &Archived{With: p.wrong()}
	}
}

// stillArchived updates p's Archived mark: nil once something is wrong that was not when it was archived. It forgets what is
// no longer wrong, so that a recurrence counts as new.
func (p Package) stillArchived() *Archived {
	if p.Archived == nil {
		return nil
	}
	wrong := p.wrong()
	for _, what := range wrong {
		if !slices.Contains(p.Archived.With, what) {
			return nil
		}
	}
	return &Archived{With: wrong}
}

// wrong identifies what is wrong with a package, independently of the problem's text, which may change.
func (p Package) wrong() (what []string) {
	for name, is := range map[string]bool{"problem": !p.Problem.IsZero(), "gone": p.Gone, "expired": p.State == PackageExpired, "declined": p.State == "declined"} {
		if is {
			what = append(what, name)
		}
	}
	for _, s := range p.Signers {
		if !s.Declined.IsZero() {
			what = append(what, "declined by "+s.ID)
		}
	}
	slices.Sort(what)
	return what
}

func (d Draft) Clone() Draft {
	d.Files, d.Signers, d.Recipients = slices.Clone(d.Files), slices.Clone(d.Signers), slices.Clone(d.Recipients)
	d.ExternalData, d.Replaces = slices.Clone(d.ExternalData), slices.Clone(d.Replaces)
	d.DefaultRecipients, d.NoCopy = slices.Clone(d.DefaultRecipients), slices.Clone(d.NoCopy)
	d.Template = d.Template.Clone()
	return d
}

// PackageLine is what a long list of packages shows and searches. It is stored beside the package in a form that is much
// cheaper to read than its JSON.
type PackageLine struct {
	ID     string
	Name   string
	State  PackageState
	Origin Origin
	People string // names and addresses of the signers, one a line: a name may have a comma
	Next   string // names of those whose turn it is, one a line
	Words  string // for the search: names of documents and files, recipients of copies, and the reference
	Refusals
	SignersDone  int
	SignersTotal int // 0 while unknown
	Gone         bool
	Planned      bool // its files are planned
	Saved        bool // its files are on disk
	Sealed       bool // their seals were intact when last examined
	Astray       bool // when last checked, one was missing or changed
	Archived     bool // taken out of the list
	Problem      bool // its files cannot currently be saved
	Withdrawing  bool // its withdrawal was requested and is not done yet
	Created      time.Time
	Due          time.Time
	Executed     time.Time
}

// Refusals says who declined to sign.
type Refusals struct {
	Declined  bool   // somebody did
	Decliners string // names of those who did, as in PackageLine.Next; an unknown one is empty
	Reason    string // the first one given
}

// Lines are the lines of all packages, newest first, or of those that are new or changed since a version.
type Lines struct {
	Version uint64 // pass it to get only later changes; 0 stands for no version, before the first reading
	All     bool   // they are the lines of all packages
	Lines   []PackedLine
}

func (p Package) Line() PackageLine {
	var people, next, declined, words []string
	reason := ""
	for _, s := range p.Next() {
		if name := s.DisplayName(); name != "" {
			next = append(next, name)
		}
	}
	for _, s := range p.Signers {
		name := s.DisplayName()
		if !s.Declined.IsZero() {
			declined, reason = append(declined, name), cmp.Or(reason, message.OneLine(s.DeclineReason, MaxName))
		}
		if s.Email != "" && s.Email != name {
			name += " <" + s.Email + ">"
		}
		if name != "" {
			people = append(people, name)
		}
	}
	for _, d := range p.Documents {
		words = append(words, d.Name, d.FileName)
	}
	for _, r := range p.Recipients {
		words = append(words, r.Address())
	}
	words = append(words, p.Reference)
	return PackageLine{
		ID: p.ID, Name: p.DisplayName(), State: p.State, Origin: p.Origin, People: strings.Join(people, "\n"),
		Next: strings.Join(next, "\n"), Words: strings.Join(words, "\n"), Refusals: Refusals{Declined: len(declined) > 0,
			Decliners: strings.Join(declined, "\n"), Reason: reason},
		SignersDone: p.SignersDone, SignersTotal: p.SignersTotal,
		Gone: p.Gone, Planned: p.Planned, Saved: p.Saved, Sealed: p.Sealed, Astray: p.Astray, Problem: !p.Problem.IsZero(), Archived: p.Archived != nil, Withdrawing: p.Withdrawal.Pending(),
		Created: p.Created, Due: p.Due, Executed: p.Executed.Time,
	}
}

// PackedLine is a PackageLine as stored: three time stamps, two bytes of flags, two counts and the texts, each preceded by its
// length. A list of tens of thousands keeps lines in this form and unpacks those that are displayed. Unpacking copies
// nothing, so the texts of a line share the memory of the PackedLine.
type PackedLine string

// The flags of a packed line.
const (
	lineGone = 1 << iota
	linePlanned
	lineSaved
	lineProblem
	lineDeclined
	lineArchived
	lineWithdrawing
	lineSealed
	lineAstray
)

// packedHead is the length of the time stamps and the flags.
const packedHead = 3*8 + 2

// Stamp is a time as a number that sorts chronologically: nanoseconds since 1970. Earlier times and the zero time are 0;
// times after 2262 are the maximum.
func Stamp(t time.Time) uint64 {
	switch {
	case t.Year() > 2261:
		return math.MaxInt64
	case t.Unix() > 0:
		return uint64(t.UnixNano())
	}
	return 0
}

// StampTime is the time of a Stamp, in UTC; the zero time for 0.
func StampTime(stamp uint64) time.Time {
	if stamp == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(stamp)).UTC()
}

func (l PackageLine) Pack() PackedLine {
	texts := [...]string{l.ID, l.Name, string(l.State), string(l.Origin), l.People, l.Next, l.Words, l.Decliners, l.Reason}
	size := packedHead + 2*binary.MaxVarintLen32
	for _, s := range texts {
		size += binary.MaxVarintLen32 + len(s)
	}
	b := make([]byte, 0, size)
	for _, t := range []time.Time{l.Created, l.Due, l.Executed} {
		b = binary.BigEndian.AppendUint64(b, Stamp(t))
	}
	flags := uint16(0)
	for i, set := range [...]bool{l.Gone, l.Planned, l.Saved, l.Problem, l.Declined, l.Archived, l.Withdrawing, l.Sealed, l.Astray} {
		if set {
			flags |= 1 << i
		}
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.AppendUvarint(b, uint64(max(l.SignersDone, 0)))
	b = binary.AppendUvarint(b, uint64(max(l.SignersTotal, 0)))
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return PackedLine(b)
}

// Unpack decodes the line; ok is false if it is truncated.
func (p PackedLine) Unpack() (l PackageLine, ok bool) {
	if len(p) < packedHead {
		return PackageLine{}, false
	}
	flags := binary.BigEndian.Uint16([]byte(p[packedHead-2 : packedHead]))
	u := unpacking{rest: string(p[packedHead:])}
	l = PackageLine{
		Created: p.time(0), Due: p.time(8), Executed: p.time(16),
		Gone: flags&lineGone != 0, Planned: flags&linePlanned != 0, Saved: flags&lineSaved != 0, Problem: flags&lineProblem != 0,
		Archived: flags&lineArchived != 0, Withdrawing: flags&lineWithdrawing != 0, Sealed: flags&lineSealed != 0, Astray: flags&lineAstray != 0,
		SignersDone: u.number(), SignersTotal: u.number(),
		ID: u.text(), Name: u.text(), State: PackageState(u.text()).Normal(), Origin: Origin(u.text()),
		People: u.text(), Next: u.text(), Words: u.text(),
		Refusals: Refusals{Declined: flags&lineDeclined != 0, Decliners: u.text(), Reason: u.text()},
	}
	if u.short {
		return PackageLine{}, false
	}
	return l, true
}

// Created is when the package was made.
func (p PackedLine) Created() time.Time { return p.time(0) }

// Executed is when everybody had signed it.
func (p PackedLine) Executed() time.Time { return p.time(16) }

func (p PackedLine) Whole() bool {
	_, ok := p.Unpack()
	return ok
}

func (p PackedLine) time(at int) time.Time {
	stamp := uint64(0)
	for i := range 8 {
		stamp = stamp<<8 | uint64(p[at+i])
	}
	return StampTime(stamp)
}

// unpacking is the rest of a packed line while it is decoded.
type unpacking struct {
	rest  string
	short bool // it was shorter than expected
}

func (u *unpacking) number() int {
	n := 0
	for i := 0; i < len(u.rest) && i < binary.MaxVarintLen32; i++ {
		b := u.rest[i]
		n |= int(b&0x7f) << (7 * i)
		if b < 0x80 && n <= math.MaxInt32 {
			u.rest = u.rest[i+1:]
			return n
		}
	}
	u.rest, u.short = "", true
	return 0
}

func (u *unpacking) text() string {
	n := u.number()
	if n > len(u.rest) {
		u.rest, u.short = "", true
		return ""
	}
	text := u.rest[:n]
	u.rest = u.rest[n:]
	return text
}

// Packer stores packed lines together in few large pieces of memory instead of one for each. The zero Packer is ready to
// use.
type Packer struct{ piece strings.Builder }

// packedPiece is the maximum size of a piece in bytes, unless a line is larger. Each piece is twice as large as the previous
// one, so that few lines do not occupy much more than their own size.
const packedPiece = 256 << 10

// Keep returns a copy of the packed line in b.
func (k *Packer) Keep(b []byte) PackedLine {
	if k.piece.Cap()-k.piece.Len() < len(b) {
		next := min(2*k.piece.Cap(), packedPiece)
		k.piece.Reset()
		k.piece.Grow(max(next, len(b)))
	}
	from := k.piece.Len()
	k.piece.Write(b)
	return PackedLine(k.piece.String()[from:])
}

type JobState string

const (
	JobPending JobState = "pending"
	JobDone    JobState = "done"
	JobFailed  JobState = "failed" // the service has not supplied it for weeks; it is asked rarely, and a person can ask now
)

// Job is one file to be saved. Its key is PackageID/DocumentID/Kind, so planning it twice is harmless.
type Job struct {
	PackageID  string          `json:"package_id"`
	DocumentID string          `json:"document_id,omitempty"` // empty for a master file
	Kind       FileKind        `json:"kind"`
	Folder     string          `json:"folder"`           // absolute
	Target     string          `json:"target"`           // relative to Folder, with forward slashes, chosen once
	Wanted     string          `json:"wanted,omitempty"` // Target as it would be if every name were free
	State      JobState        `json:"state"`
	Planned    time.Time       `json:"planned"`
	Tries      int             `json:"tries,omitempty"`
	NextTry    time.Time       `json:"next_try,omitzero"`
	Refused    time.Time       `json:"refused,omitzero"` // since when the service has refused it
	Problem    message.Message `json:"problem,omitzero"`
	SavedFile
	Home

	// ListIn is the folder whose index lists the file, if that is not Folder. Listed is the SHA-256 with which an index
	// lists it: that of an earlier copy elsewhere, if the file was saved again since. ListedAs is the path in that line.
	ListIn   string `json:"list_in,omitempty"`
	Listed   string `json:"listed,omitempty"`
	ListedAs string `json:"listed_as,omitempty"`

	// What an attempt received that could not prove to be the whole document, when it first arrived, and how many attempts
	// received such bytes.
	Unproven      string    `json:"unproven,omitempty"` // digest
	UnprovenAt    time.Time `json:"unproven_at,omitzero"`
	UnprovenTries int       `json:"unproven_tries,omitempty"`
}

// SavedFile is the file on disk, once the job is done.
type SavedFile struct {
	Size     int64     `json:"size,omitempty"`   // bytes
	Digest   string    `json:"sha256,omitempty"` // by which package archive recognises the file
	Done     time.Time `json:"done,omitzero"`
	Found    bool      `json:"found,omitempty"` // the file was already there: an index may list it
	Seal     Seal      `json:"seal,omitzero"`   // set once it was examined
	Match    Match     `json:"match,omitzero"`  // likewise, of the file with the digest Compared
	Compared string    `json:"compared,omitempty"`

	Astray     message.Message `json:"astray,omitzero"` // that a check found it missing or changed
	AstrayRead bool            `json:"astray_read,omitempty"`
	Renamed    string          `json:"renamed,omitempty"` // where a check found it under another name, as Target
}

// Key is the job's key in the store: its three parts, none of which contains a slash.
func (j Job) Key() string {
	return KeyPart(j.PackageID) + "/" + KeyPart(j.DocumentID) + "/" + KeyPart(string(j.Kind))
}

// WantedName is the name j would have if every name were free.
func (j Job) WantedName() string { return cmp.Or(j.Wanted, j.Target) }

// IndexFolder is the folder whose index lists the file.
func (j Job) IndexFolder() string { return cmp.Or(j.ListIn, j.Folder) }

// FirstProblem is the first reason why one of these files cannot be saved, or cannot be relied on; or empty. It is no
// problem that the service has no certificate or master file yet: some documents have none.
func FirstProblem(jobs []Job) message.Message {
	for _, j := range jobs {
		if j.State == JobPending && j.Kind != FileSigned && (j.Problem == message.NotReady() || j.Problem == message.ServiceKnowsNot()) {
			continue
		}
		if j.State != JobDone && !j.Problem.IsZero() {
			return j.Problem
		}
		if j.State == JobDone && j.Wrong() {
			return j.Fault()
		}
		if j.State == JobDone && j.Troubles() {
			return j.Astray
		}
	}
	return message.Message{}
}

// At is where the file is, relative to Folder.
func (j Job) At() string { return cmp.Or(j.Renamed, j.Target) }

// Path is where the file is.
func (j Job) Path() string { return filepath.Join(j.Folder, filepath.FromSlash(j.At())) }

// Troubles reports whether a check found the file missing or changed, and nobody has read that yet.
func (f SavedFile) Troubles() bool { return !f.Astray.IsZero() && !f.AstrayRead }

// AllSaved reports whether there are files and all of them are on disk.
func AllSaved(jobs []Job) bool {
	for _, j := range jobs {
		if j.State != JobDone {
			return false
		}
	}
	return len(jobs) > 0
}

// MaxID is the longest identifier, in bytes, that is used as a key unchanged. bbolt's own limit is 32 KiB.
const MaxID = 512

// KeyPart is an identifier as part of a key: unchanged, or, if it is too long or contains a slash or a percent sign, a
// percent sign and its hash.
func KeyPart(id string) string {
	if len(id) <= MaxID && !strings.ContainsAny(id, "/%") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "%" + hex.EncodeToString(sum[:])
}

// BLAKE3 converts a digest of package archive to the record's form, plain hex.
func BLAKE3(digest string) string { return strings.TrimPrefix(digest, "blake3:") }
