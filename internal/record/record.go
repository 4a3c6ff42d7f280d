// Package record is the form of the record: a log of facts to which lines are added, and in which none is changed or taken away
// without being seen. The lines are the leaves of a Merkle tree (RFC 6962), whose head stands for all of them.
//
// It promises:
//   - A fact is a line of JSON that stands for itself. Its bytes are hashed as they are, and never written anew.
//   - Whoever knows a head can tell whether a later log still begins with what that head stood for.
//   - No line holds a secret. That of an event has the signature, the address and the hash of the body: with the body and the secret
//     of the endpoint, which the service has as well, its signature can be checked again.
//
// It must not know where a log is kept (package store), nor the network.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Kind is what a fact is about.
type Kind string

const (
	Sent     Kind = "sent"     // a draft was accepted by the service, with these files
	Received Kind = "event"    // an authentic notification of the service
	Saved    Kind = "saved"    // a document was downloaded and saved
	Examined Kind = "seal"     // what its digital seal was found to be
	Key      Kind = "key"      // heads are signed with this key from here on
	Restored Kind = "restored" // what follows was added to a backup: facts that came after it are missing
)

// Fact is one thing that happened, as it is logged.
type Fact struct {
	At      time.Time `json:"at"` // when it was logged
	Kind    Kind      `json:"fact"`
	Package string    `json:"package,omitempty"`
	Draft   string    `json:"draft,omitempty"`
	Files   []File    `json:"files,omitempty"` // of Sent
	File    *File     `json:"file,omitempty"`
	Event   *Event    `json:"event,omitempty"`
	Seal    *Seal     `json:"seal,omitempty"`
	Key     string    `json:"key,omitempty"` // as note.NewVerifier takes it
}

// File is a document. Hashes are in hex.
type File struct {
	Document string `json:"document,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name,omitempty"`
	Size     int64  `json:"size"`
	BLAKE3   string `json:"blake3,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
}

// Event is a notification. Signature is HMAC-SHA-256 over URL and body, as it came.
type Event struct {
	ID        string `json:"id"`
	Action    string `json:"action,omitempty"`
	SHA256    string `json:"sha256"` // of the body
	Signature string `json:"signature,omitempty"`
	URL       string `json:"url"`
}

// Seal is a verdict.
type Seal struct {
	State   string    `json:"state"`
	Signer  string    `json:"signer,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Stamped string    `json:"stamped,omitempty"`
	Sent    string    `json:"sent,omitempty"` // whether the document is what was sent
}

// Sum is SHA-256 in hex.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Line is the fact as it is logged, without an end of line.
func (f Fact) Line() ([]byte, error) {
	f.At = f.At.UTC().Truncate(time.Second)
	return json.Marshal(f)
}

// Log is where a log is kept.
type Log interface {
	Line(n int64) ([]byte, error)
	Block(level int, n int64) (tlog.Hash, error) // of 1<<level lines, where level is a multiple of Step
}

// Step is at which levels of the tree hashes are kept. Those in between are computed from at most 1<<Step others.
const Step = 8

// Hashes reads a log's tree for package tlog.
func Hashes(l Log) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
		for _, index := range indexes {
			level, n := tlog.SplitStoredHashIndex(index)
			h, err := hashAt(l, level, n)
			if err != nil {
				return nil, err
			}
			list = append(list, h)
		}
		return list, nil
	})
}

func hashAt(l Log, level int, n int64) (tlog.Hash, error) {
	switch {
	case level == 0:
		line, err := l.Line(n)
		return tlog.RecordHash(line), err
	case level%Step == 0:
		return l.Block(level, n)
	}
	return NewBlock(l, level, n)
}

// NewBlock computes the hash of 1<<level lines, the first of which is n<<level, from what is below.
func NewBlock(l Log, level int, n int64) (tlog.Hash, error) {
	left, err := hashAt(l, level-1, 2*n)
	if err != nil {
		return tlog.Hash{}, err
	}
	right, err := hashAt(l, level-1, 2*n+1)
	return tlog.NodeHash(left, right), err
}

// Head is what the first Size lines of a log are: there are no others with the same.
type Head = tlog.Tree

var emptyHead = Head{Hash: sha256.Sum256(nil)}

// HeadOf is the head of the first so many lines of a log.
func HeadOf(l Log, size int64) (Head, error) {
	if size == 0 { // for which package tlog has no answer
		return emptyHead, nil
	}
	hash, err := tlog.TreeHash(size, Hashes(l))
	return Head{N: size, Hash: hash}, err
}

// Sign is a head as a note that is signed, in the form of a checkpoint (C2SP tlog-checkpoint).
func Sign(h Head, key note.Signer) ([]byte, error) {
	return note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", key.Name(), h.N, h.Hash)}, key)
}

// ErrNote means that a text is no signed head, or not of that key.
var ErrNote = errors.New("it is not a signed head")

// Open reads what Sign wrote.
func Open(text []byte, key note.Verifier) (h Head, err error) {
	n, err := note.Open(text, note.VerifierList(key))
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrNote, err)
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) < 4 || lines[0] != key.Name() {
		return h, ErrNote
	}
	var err1, err2 error
	h.N, err1 = strconv.ParseInt(lines[1], 10, 64)
	h.Hash, err2 = tlog.ParseHash(lines[2])
	if err1 != nil || err2 != nil || h.N < 0 {
		return h, ErrNote
	}
	return h, nil
}

// Fingerprint is a head as one short line for a letter.
func Fingerprint(h Head, at time.Time) string {
	return fmt.Sprintf("Countersign record: %d %s %s", h.N, h.Hash, at.Format(time.DateOnly))
}

var fingerprint = regexp.MustCompile(`(\d{1,15})[\s>]+([A-Za-z0-9+/]{43}=)`)

// ReadFingerprint reads such a line, also from a letter that has broken it.
func ReadFingerprint(text string) (h Head, ok bool) {
	m := fingerprint.FindStringSubmatch(text)
	if m == nil {
		return h, false
	}
	var err error
	if h.N, err = strconv.ParseInt(m[1], 10, 64); err == nil {
		h.Hash, err = tlog.ParseHash(m[2])
	}
	return h, err == nil
}

// Tree computes the head of lines that are read one after the other.
type Tree struct {
	size  int64
	parts []tlog.Hash // the heads of the whole parts that size consists of, the largest first
}

// Add adds the next line.
func (t *Tree) Add(line []byte) {
	hash := tlog.RecordHash(line)
	for n := t.size; n%2 == 1; n /= 2 {
		last := len(t.parts) - 1
		hash = tlog.NodeHash(t.parts[last], hash)
		t.parts = t.parts[:last]
	}
	t.parts = append(t.parts, hash)
	t.size++
}

// Head is that of the lines so far.
func (t *Tree) Head() Head {
	if t.size == 0 {
		return emptyHead
	}
	hash := t.parts[len(t.parts)-1]
	for i := len(t.parts) - 2; i >= 0; i-- {
		hash = tlog.NodeHash(t.parts[i], hash)
	}
	return Head{N: t.size, Hash: hash}
}
