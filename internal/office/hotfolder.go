package office

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
)

// HotFolder is a folder that sends: each file that appears in it becomes a package for the same people.
type HotFolder struct {
	ID         string   `json:"id"`
	Path       string   `json:"path"` // absolute
	Signers    []Signer `json:"signers"`
	Sequential bool     `json:"sequential,omitempty"`
	Name       string   `json:"name,omitempty"` // pattern of the packages' names; empty for {document}
	Message    string   `json:"message,omitempty"`
	DueDays    int      `json:"due_days,omitempty"` // days from the sending; 0 for no due date
	Ask        bool     `json:"ask,omitempty"`      // nothing is sent before a person says so
	Paused     bool     `json:"paused,omitempty"`
	By         string   `json:"by,omitempty"` // the account that set it up, from which it sends; empty for whoever signs in first
	// Real is where Path led when a person saved the folder, without links; empty while that is not known.
	Real string `json:"real,omitempty"`
}

// The fields of a HotFolder that can be wrong, called as in its JSON.
const (
	FieldHotPath    = "path"
	FieldHotSigners = "signers"
	FieldHotName    = "name"
	FieldHotDue     = "due_days"
)

// The folders in a hot folder, in the order in which a document passes them. What lies in them is never sent.
const (
	HotWaiting  = "Waiting"  // taken, and not yet with the signing service
	HotSent     = "Sent"     // the service has it
	HotSigned   = "Signed"   // what came back
	HotProblems = "Problems" // what cannot be sent, each with a text that says why
)

// maxDueDays is how far ahead a due date can be.
const maxDueDays = 365

// The placeholders of HotFolder.Name.
const (
	holeDocument = "{document}" // the file's name without its ending
	holeDate     = "{date}"     // as 2006-01-02
	holeMonth    = "{month}"    // as 2006-01
	holeYear     = "{year}"
)

// HotPlaceholders lists what HotFolder.Name may hold, in the order to show it to people.
func HotPlaceholders() []string { return []string{holeDocument, holeDate, holeMonth, holeYear} }

// Normal is f as it is kept.
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

// Check returns what is wrong with f, as Normal writes it. It does not look at the folder.
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

// CheckSigners is the one judgement of who is to sign: what is wrong with them first, and what people are told; "" for nothing.
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

// fillHoles puts what value knows in the place of each {name} of a pattern. unknown is the first that it does not know, with its braces;
// such a one stays as it is. What is put in is not looked through again.
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
		if !closed { // nothing is filled in
			text = "{" + name
		}
		out.WriteString(text)
		pattern = after
	}
}

// hotHoles fills the placeholders of every pattern, for a document and a moment.
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

// Package is the package that a file at path becomes. now is in the zone in which people count days.
func (f HotFolder) Package(path string, now time.Time) NewPackage {
	p := NewPackage{Files: []string{path}, Signers: f.Signers, Sequential: f.Sequential, Message: f.Message}
	p.Name, _ = fillHoles(cmp.Or(f.Name, holeDocument), hotHoles(path, now))
	if f.DueDays > 0 {
		y, m, d := now.Date()
		p.Due = time.Date(y, m, d+f.DueDays, 23, 59, 0, 0, now.Location())
	}
	return p
}

// Called is how people know the folder.
func (f HotFolder) Called() string { return filepath.Base(f.Path) }

// In reports whether the folder is another one or lies in it, as they are written.
func (f HotFolder) In(other HotFolder) bool {
	rel, err := filepath.Rel(other.Path, f.Path)
	return err == nil && filepath.IsLocal(rel)
}

// HotFolderRow is a folder that sends with how it stands.
type HotFolderRow struct {
	HotFolder
	Waiting int             `json:"waiting"`           // documents that are taken, and that the service does not have yet
	Problem message.Message `json:"problem,omitzero"`  // what keeps the folder from sending
	Confirm bool            `json:"confirm,omitempty"` // another account set it up: it sends nothing before somebody saves it once more
}

// Intake is a file of a hot folder on its way to becoming a package. It is recorded before the file is touched, and each
// move of the file before it is made, so that the way can be taken up wherever it was interrupted.
type Intake struct {
	ID      string    `json:"id"`
	Folder  string    `json:"folder"`         // HotFolder.ID
	Path    string    `json:"path"`           // of that folder, when the file was found
	Real    string    `json:"real,omitempty"` // of that folder, likewise
	Name    string    `json:"name"`           // of the file, as it was found
	At      string    `json:"at"`             // where the file is, relative to Path, with forward slashes
	Next    string    `json:"next,omitempty"`
	Created time.Time `json:"created"`
	Size    int64     `json:"size,omitempty"`   // of the file as it was found, in bytes
	Changed time.Time `json:"changed,omitzero"` // likewise, as the file system says

	Draft   string          `json:"draft,omitempty"`  // that it became
	Again   bool            `json:"again,omitempty"`  // it is the draft's file a second time
	Found   bool            `json:"found,omitempty"`  // it lay in Waiting, and nobody knew of it
	Problem message.Message `json:"problem,omitzero"` // why it cannot be sent
	// Explained is where the file lay when a text was written beside it that says so.
	Explained string `json:"explained,omitempty"`

	Ask  bool `json:"ask,omitempty"`  // people are to be asked about it, and were not told so yet
	Tell bool `json:"tell,omitempty"` // people are to be told that it was not sent, and were not yet

	// The signed files that were given back, by Job.Key. Day is the counted day since which nothing more has come.
	Returned map[string]bool `json:"returned,omitempty"`
	Day      int             `json:"day,omitempty"`
}

// Place is the folder of the hot folder in which the file is; "" for the hot folder itself.
func (in Intake) Place() string {
	place, _, inside := strings.Cut(in.At, "/")
	if !inside {
		return ""
	}
	return place
}

// sendable are the endings of the files that signing services take as documents.
var sendable = []string{".pdf", ".docx", ".doc", ".odt", ".rtf", ".txt", ".xlsx", ".xls", ".ods", ".pptx", ".ppt", ".odp", ".png", ".jpg", ".jpeg", ".tif", ".tiff"}

// How the names of files end that Countersign makes for itself, wherever they lie.
const (
	OwnEnding    = ".countersign"        // what an administrator hands out, and an office on its way to another computer
	BackupEnding = ".countersign-backup" // the state as it was
)

// IsOwn says whether a file is such a one, by its name: what it holds may be nobody else's business.
func IsOwn(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return ending == OwnEnding || ending == BackupEnding
}

// SendableEndings are the endings of files that can be sent, with their dots and in small letters.
func SendableEndings() []string { return slices.Clone(sendable) }

// Sendable reports whether a file of that name can be sent, as far as its name tells.
func Sendable(name string) bool {
	return slices.Contains(sendable, strings.ToLower(filepath.Ext(name)))
}
