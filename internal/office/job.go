package office

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/message"
)

// JobState is the state of a save job.
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
	// lists it: that of an earlier copy elsewhere, if the file was saved again since.
	ListIn string `json:"list_in,omitempty"`
	Listed string `json:"listed,omitempty"`

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
