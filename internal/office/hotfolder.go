package office

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
)

// HotFolder is a watched folder: each file that appears in it becomes a package for the same people.
type HotFolder struct {
	ID         string   `json:"id"`
	Path       string   `json:"path"` // absolute
	Signers    []Signer `json:"signers"`
	Sequential bool     `json:"sequential,omitempty"`
	Name       string   `json:"name,omitempty"` // pattern of the packages' names; empty means {document}
	Message    string   `json:"message,omitempty"`
	DueDays    int      `json:"due_days,omitempty"` // counted from the sending; 0 for no due date
	Ask        bool     `json:"ask,omitempty"`      // nothing is sent before a person confirms
	Paused     bool     `json:"paused,omitempty"`
	By         string   `json:"by,omitempty"` // the account that set it up, and from which it sends; empty for whoever signs in first
	// Real is where Path led, without links, when a person saved the folder; empty while unknown.
	Real string `json:"real,omitempty"`
}

// The fields of a HotFolder that can be wrong, named as in its JSON.
const (
	FieldHotPath    = "path"
	FieldHotSigners = "signers"
	FieldHotName    = "name"
	FieldHotDue     = "due_days"
)

// The subfolders of a watched folder, in the order in which a document passes through them. Nothing in them is ever sent.
const (
	HotWaiting  = "Waiting"  // taken in, and not yet sent to the service
	HotSent     = "Sent"     // the service has it
	HotSigned   = "Signed"   // what came back signed
	HotProblems = "Problems" // what cannot be sent, each with a text that says why
)

// maxDueDays is how far ahead a due date can be.
const maxDueDays = 365

// The placeholders of HotFolder.Name.
const (
	holeDocument = "{document}" // the file's name without its extension
	holeDate     = "{date}"     // as 2006-01-02
	holeMonth    = "{month}"    // as 2006-01
	holeYear     = "{year}"
)

// HotPlaceholders lists what HotFolder.Name may contain, in display order.
func HotPlaceholders() []string { return []string{holeDocument, holeDate, holeMonth, holeYear} }

// Normal is f in the form in which it is stored.
func (f HotFolder) Normal() HotFolder {
	f.Name, f.Path = strings.TrimSpace(f.Name), strings.TrimSpace(f.Path)
	if f.Path != "" {
		f.Path = filepath.Clean(f.Path)
	}
	f.Signers = slices.Clone(f.Signers)
	for i := range f.Signers {
		s := &f.Signers[i]
		*s = Signer{FirstName: strings.TrimSpace(s.FirstName), LastName: strings.TrimSpace(s.LastName), Email: strings.TrimSpace(s.Email)}
	}
	return f
}

// Check returns what is wrong with f, which must be Normal. It does not check the folder on disk.
func (f HotFolder) Check() (bad []FieldError) {
	say := func(field string, code Code, text message.Message) { bad = append(bad, FieldError{field, code, text}) }
	switch {
	case f.Path == "":
		say(FieldHotPath, CodeMissing, message.SendFolderMissing())
	case !filepath.IsAbs(f.Path):
		say(FieldHotPath, CodePath, message.SendFolderPath())
	}
	if code, text := CheckSigners(f.Signers); code != "" {
		say(FieldHotSigners, code, text)
	}
	if _, hole := fillHoles(f.Name, hotHoles("", time.Time{})); hole != "" {
		say(FieldHotName, CodeForm, message.PatternUnknown(hole, HotPlaceholders()))
	}
	if f.DueDays < 0 || f.DueDays > maxDueDays {
		say(FieldHotDue, CodeRange, message.SendFolderDue(maxDueDays))
	}
	return bad
}

// CheckSigners returns the first thing that is wrong with a list of signers, and the message for people; "" for nothing. No
// other code checks signers.
func CheckSigners(signers []Signer) (Code, message.Message) {
	if len(signers) == 0 {
		return CodeMissing, message.NoSigner()
	}
	seen := map[string]bool{}
	for _, s := range signers {
		email := strings.ToLower(s.Email)
		switch {
		case !IsAddress(s.Email):
			return CodeForm, message.EmailIncomplete(cmp.Or(s.fullName(), s.Email))
		case seen[email]:
			return CodeConflict, message.SignerTwice(s.Email)
		}
		seen[email] = true
	}
	return "", message.Message{}
}

// fillHoles replaces each {name} in a pattern by its value. unknown is the first placeholder without a value, with its
// braces; such placeholders stay as they are. Inserted text is not searched for placeholders.
func fillHoles(pattern string, value func(name string) (string, bool)) (filled, unknown string) {
	var out strings.Builder
	for {
		before, rest, opened := strings.Cut(pattern, "{")
		out.WriteString(before)
		if !opened {
			return out.String(), unknown
		}
		name, after, closed := strings.Cut(rest, "}")
		text, known := value(name)
		if !known {
			text = "{" + name + "}"
			unknown = cmp.Or(unknown, text)
		}
		if !closed { // no closing brace: nothing is filled in
			text = "{" + name
		}
		out.WriteString(text)
		pattern = after
	}
}

// hotHoles returns the values of the placeholders for a document and a time.
func hotHoles(path string, now time.Time) func(name string) (string, bool) {
	base := filepath.Base(path)
	document := strings.TrimSuffix(base, filepath.Ext(base))
	values := map[string]string{
		holeDocument: cmp.Or(document, base), holeDate: now.Format(time.DateOnly), holeMonth: now.Format("2006-01"), holeYear: now.Format("2006"),
	}
	return func(name string) (string, bool) {
		text, known := values["{"+name+"}"]
		return text, known
	}
}

// Package is the package made from a file at path. now must be in the time zone in which people count days.
func (f HotFolder) Package(path string, now time.Time) NewPackage {
	p := NewPackage{Files: []string{path}, Signers: f.Signers, Sequential: f.Sequential, Message: f.Message}
	p.Name, _ = fillHoles(cmp.Or(f.Name, holeDocument), hotHoles(path, now))
	if f.DueDays > 0 {
		y, m, d := now.Date()
		p.Due = time.Date(y, m, d+f.DueDays, 23, 59, 0, 0, now.Location())
	}
	return p
}

// Called is the folder's name for people.
func (f HotFolder) Called() string { return filepath.Base(f.Path) }

// In reports whether the folder is other or lies inside it, judging by the paths as written.
func (f HotFolder) In(other HotFolder) bool {
	rel, err := filepath.Rel(other.Path, f.Path)
	return err == nil && filepath.IsLocal(rel)
}

// SeenFile is a file that a hot folder has sent.
type SeenFile struct {
	SHA256 string `json:"sha256"` // in hex
	Name   string `json:"name"`
}

// HotFolderRow is a watched folder with its state.
type HotFolderRow struct {
	HotFolder
	Waiting int             `json:"waiting"`           // documents taken in that the service does not have yet
	Refused int             `json:"refused,omitempty"` // documents that could not be sent, in Problems
	Problem message.Message `json:"problem,omitzero"`  // what keeps it from sending, or from getting signed documents
	Confirm bool            `json:"confirm,omitempty"` // another account set it up: it sends nothing until somebody saves it again
}

// Intake is a file of a watched folder on its way to becoming a package. It is recorded before the file is touched, and each
// move of the file before it is made, so that an interrupted intake can resume anywhere.
type Intake struct {
	ID      string    `json:"id"`
	Folder  string    `json:"folder"`         // HotFolder.ID
	Path    string    `json:"path"`           // of the folder, when the file was found
	Real    string    `json:"real,omitempty"` // of that folder, likewise
	Name    string    `json:"name"`           // of the file, as it was found
	At      string    `json:"at"`             // where the file is, relative to Path, with forward slashes
	Next    string    `json:"next,omitempty"`
	Created time.Time `json:"created"`
	Size    int64     `json:"size,omitempty"`   // of the file when it was found, in bytes
	Changed time.Time `json:"changed,omitzero"` // modification time of the file when it was found
	SHA256  string    `json:"sha256,omitempty"` // hex, of the bytes that became the draft

	Draft   string          `json:"draft,omitempty"`  // the draft that it became
	Again   bool            `json:"again,omitempty"`  // the draft's file appeared again
	Found   bool            `json:"found,omitempty"`  // it lay in Waiting without a record
	Problem message.Message `json:"problem,omitzero"` // why it cannot be sent
	// Explained is where the file was when an explanation was written beside it.
	Explained string `json:"explained,omitempty"`

	Ask  bool `json:"ask,omitempty"`  // people must be asked about it, and were not yet
	Tell bool `json:"tell,omitempty"` // people must be told that it was not sent, and were not yet

	// The signed files that were returned to the folder, by Job.Key. Day is the counted day since which nothing new has
	// come.
	Returned map[string]bool `json:"returned,omitempty"`
	Day      int             `json:"day,omitempty"`
}

// Place is the subfolder that contains the file; "" for the watched folder itself.
func (in Intake) Place() string {
	place, _, inside := strings.Cut(in.At, "/")
	if !inside {
		return ""
	}
	return place
}

// sendable are the extensions of files that signing services accept as documents.
var sendable = []string{".pdf", ".docx", ".doc", ".odt", ".rtf", ".txt", ".xlsx", ".xls", ".ods", ".pptx", ".ppt", ".odp", ".png", ".jpg", ".jpeg", ".tif", ".tiff"}

// The extensions of files that Countersign creates for its own use, wherever they lie.
const (
	OwnEnding    = ".countersign"        // an administrator's file, or an office being moved to another computer
	BackupEnding = ".countersign-backup" // a backup of the state
)

// IsOwn reports whether a file has such an extension: its contents may be confidential.
func IsOwn(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return ending == OwnEnding || ending == BackupEnding
}

// SendableEndings are the extensions of files that can be sent, in lower case with their dots.
func SendableEndings() []string { return slices.Clone(sendable) }

// Sendable reports whether a file with that name can be sent, judging by the extension.
func Sendable(name string) bool {
	return slices.Contains(sendable, strings.ToLower(filepath.Ext(name)))
}
