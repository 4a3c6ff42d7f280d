// Package record defines the format of the record: an append-only log of facts in which a changed or missing line is
// noticed. The lines are the leaves of a Merkle tree (RFC 6962), whose head represents all of them.
//
// It promises:
//   - A fact is a self-contained line of JSON. Its bytes are hashed as they are, and never re-encoded.
//   - Whoever has a head can verify that a later log still begins with the lines it represents.
//   - No line contains a secret. The line of an event has the signature, the address and the hash of the body: with the
//     body and the endpoint's secret, which the service has as well, the signature can be verified again.
//
// It must not know where a log is stored (package store), nor the network.
package record

import (
	"bytes"
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

type Kind string

const (
	Sent     Kind = "sent"     // a draft was accepted by the service, with these files
	Received Kind = "event"    // an authentic notification of the service
	Saved    Kind = "saved"    // a document was downloaded and saved
	Examined Kind = "seal"     // the result of checking its digital seal
	Key      Kind = "key"      // the key that signs heads from here on
	Restored Kind = "restored" // what follows was appended to a backup: later facts are missing
)

// Fact is something that happened, as logged.
type Fact struct {
	At      time.Time `json:"at"` // when it was logged
	Kind    Kind      `json:"fact"`
	Package string    `json:"package,omitempty"`
	Draft   string    `json:"draft,omitempty"`
	Files   []File    `json:"files,omitempty"` // for Sent
	File    *File     `json:"file,omitempty"`
	Event   *Event    `json:"event,omitempty"`
	Seal    *Seal     `json:"seal,omitempty"`
	Key     string    `json:"key,omitempty"` // in the format of note.NewVerifier
}

// File is a document. Hashes are in hexadecimal.
type File struct {
	Document string `json:"document,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name,omitempty"`
	Size     int64  `json:"size"`
	BLAKE3   string `json:"blake3,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
}

// Event is a notification. Signature is HMAC-SHA-256 over URL and body, as received.
type Event struct {
	ID        string `json:"id"`
	Action    string `json:"action,omitempty"`
	SHA256    string `json:"sha256"` // of the body
	Signature string `json:"signature,omitempty"`
	URL       string `json:"url"`
}

type Seal struct {
	State   string    `json:"state"`
	Signer  string    `json:"signer,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Stamped string    `json:"stamped,omitempty"`
	Sent    string    `json:"sent,omitempty"` // whether the document matches what was sent
}

// Sum is the SHA-256 in hexadecimal.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Line is the fact as logged, without a line end.
func (f Fact) Line() ([]byte, error) {
	f.At = f.At.UTC().Truncate(time.Second)
	return json.Marshal(f)
}

// Log is access to a stored log.
type Log interface {
	Line(n int64) ([]byte, error)
	Block(level int, n int64) (tlog.Hash, error) // the hash over 1<<level lines, where level is a multiple of Step
}

// Step is the distance of the tree levels whose hashes are stored. Those in between are computed from at most 1<<Step
// others.
const Step = 8

// Hashes gives package tlog access to a log's tree.
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

// NewBlock computes the hash over 1<<level lines, beginning with line n<<level, from the level below.
func NewBlock(l Log, level int, n int64) (tlog.Hash, error) {
	left, err := hashAt(l, level-1, 2*n)
	if err != nil {
		return tlog.Hash{}, err
	}
	right, err := hashAt(l, level-1, 2*n+1)
	return tlog.NodeHash(left, right), err
}

// Head identifies the first Size lines of a log: no other lines have the same head.
type Head = tlog.Tree

var emptyHead = Head{Hash: sha256.Sum256(nil)}

// HeadOf is the head of a log's first size lines.
func HeadOf(l Log, size int64) (Head, error) {
	if size == 0 { // package tlog does not handle this
		return emptyHead, nil
	}
	hash, err := tlog.TreeHash(size, Hashes(l))
	return Head{N: size, Hash: hash}, err
}

// Sign signs a head as a note in the form of a checkpoint (C2SP tlog-checkpoint).
func Sign(h Head, key note.Signer) ([]byte, error) {
	return note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", key.Name(), h.N, h.Hash)}, key)
}

// ErrNote means that a text is not a head signed with that key.
var ErrNote = errors.New("it is not a signed head")

// Open verifies what Sign wrote.
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

// Fingerprint is a head as one short line, for a letter.
func Fingerprint(h Head, at time.Time) string {
	return fmt.Sprintf("Countersign record: %d %s %s", h.N, h.Hash, at.Format(time.DateOnly))
}

var fingerprint = regexp.MustCompile(`(\d{1,15})[\s>]+([A-Za-z0-9+/]{43}=)`)

// ReadFingerprint parses such a line, even if the letter breaks it.
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

// Tree computes the head of lines as they are read.
type Tree struct {
	size  int64
	parts []tlog.Hash // the heads of the complete subtrees that make up size, largest first
}

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

// Head is the head of the lines so far.
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

// Proven is a line of a log with its proof: what is needed to compute a head from it.
type Proven struct {
	Name  string // of the file that contains the line, without a line end
	Line  []byte
	steps []string // "l:" or "r:" and the sibling's hash on that side, from the line up
}

// Prove proves that line n of a log is among its first size lines (RFC 9162, 2.1.3).
func Prove(l Log, size, n int64) (p Proven, err error) {
	line, err := l.Line(n)
	if err != nil {
		return p, err
	}
	p.Name, p.Line = fmt.Sprintf("%09d.json", n+1), bytes.Clone(line)
	proof, err := tlog.ProveRecord(size, n, Hashes(l))
	for at, last, i := n, size-1, 0; i < len(proof); at, last, i = at/2, last/2, i+1 {
		side := "r:"
		if at%2 == 1 || at == last {
			side = "l:"
			for ; at%2 == 0; at, last = at/2, last/2 { // it has no right sibling there
			}
		}
		p.steps = append(p.steps, side+hex.EncodeToString(proof[i][:]))
	}
	return p, err
}

// Script is a Unix shell script that uses sha256sum, xxd and base64 to check whether the lines beside it belong to the head
// in head.txt, and whether the files in the folders beside its own are recorded in them.
func Script(lines []Proven) []byte {
	var b bytes.Buffer
	b.WriteString(script)
	for _, p := range lines {
		fmt.Fprintf(&b, "check %s", p.Name)
		for _, s := range p.steps {
			fmt.Fprintf(&b, " \\\n  %s", s)
		}
		b.WriteByte('\n')
	}
	b.WriteString(scriptEnd)
	return b.Bytes()
}

const script = `#!/bin/sh
# Checks that each line of the record in this folder belongs to what head.txt stands for (a Merkle tree, RFC 9162, 2.1).
cd "$(dirname "$0")" || exit 1
command -v sha256sum >/dev/null && command -v xxd >/dev/null && command -v base64 >/dev/null || {
	echo "This needs sha256sum, xxd and base64." >&2
	exit 2
}
leaf() { { printf '\000'; cat "$1"; } | sha256sum | cut -c 1-64; }
node() { { printf '\001'; printf %s "$1$2" | xxd -r -p; } | sha256sum | cut -c 1-64; }
head=$(sed -n 3p head.txt | base64 -d | xxd -p -c 32)
[ ${#head} -eq 64 ] || { echo "head.txt holds no head." >&2; exit 2; }
status=0
check() {
	name=$1 sum=$(leaf "$1")
	shift
	for step in "$@"; do
		case $step in
		l:*) sum=$(node "${step#l:}" "$sum") ;;
		*) sum=$(node "$sum" "${step#r:}") ;;
		esac
	done
	if [ "$sum" = "$head" ]; then echo "$name: OK"; known=$known$(cat "$name"); else echo "$name: FAILED"; status=1; fi
}
known=
`

const scriptEnd = `for file in ../documents/* ../sent/* ../events/*; do
	[ -f "$file" ] || continue
	sum=$(sha256sum <"$file" | cut -c 1-64)
	case $known in
	*"\"sha256\":\"$sum\""*) echo "$file: OK" ;;
	*) echo "$file: NOT IN THE RECORD"; status=1 ;;
	esac
done
exit $status
`
