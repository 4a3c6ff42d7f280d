package proof

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/record"
	"countersign/internal/seal"
	"countersign/internal/store"
)

// The store logs what happens (store/log.go). Once on each day on which the program runs and something was logged, the log's head is
// signed, stamped by an authority, and copied to a folder beside the documents, as the office wants.
//
// A copy is a folder of files that are written once: lines, with the numbers of the first and last in the name, along with signed
// heads and the authority's stamp of each. So interruptions tear nothing, and a copy with other lines than the log is left as it is,
// under another name.

// Vault keeps values sealed.
type Vault interface {
	Get(name string) ([]byte, error)
	Put(values map[string][]byte, also ...func(*store.Tx) error) error
}

const (
	sealedKey = "record-key"    // the key that signs heads
	stampDocs = "record-stamp/" // plus a head's size with leading zeros: documents of stamped heads
	docKey    = "record-key"    // the public key logged last
	docKept   = "record-kept"
)

// kept is the counted day on which each task was last done.
type kept struct {
	Record  int    `json:"record"`  // stamping and copying the head
	As      string `json:"as"`      // by which settings
	Checked int    `json:"checked"` // checking the saved files
}

// stampedHead is a head and its stamp by an authority.
type stampedHead struct {
	Head  string    `json:"head"` // signed; these bytes were stamped
	Size  int64     `json:"size"`
	Token []byte    `json:"token"`
	At    time.Time `json:"at"`
	By    string    `json:"by"`
}

// signer signs heads. Its key is made on first use, which is itself logged as a fact.
func (r *Service) signer() (note.Signer, error) {
	r.signing.Lock()
	defer r.signing.Unlock()
	secret, err := r.deps.Vault.Get(sealedKey)
	if err != nil {
		return nil, err
	}
	private, public, known := strings.Cut(string(secret), "\n")
	if !known {
		if private, public, err = note.GenerateKey(rand.Reader, "countersign-"+r.deps.Installation()); err != nil {
			return nil, err
		}
		if err := r.deps.Vault.Put(map[string][]byte{sealedKey: []byte(private + "\n" + public)}); err != nil {
			return nil, err
		}
	}
	logged, _, err := data.Doc[string](r.Data, docKey)
	if err == nil && logged != public { // new, or the log was restored from a backup
		err = r.Data.Update(func(tx *store.Tx) error {
			tx.AddFact(record.Fact{Kind: record.Key, Key: public})
			return tx.PutDoc(docKey, public)
		})
	}
	if err != nil {
		return nil, err
	}
	return note.NewSigner(private)
}

// signedHead returns the head of everything logged so far.
func (r *Service) signedHead() (h record.Head, signed []byte, err error) {
	key, err := r.signer()
	if err != nil {
		return h, nil, err
	}
	if h, err = r.head(-1); err == nil {
		signed, err = record.Sign(h, key)
	}
	return h, signed, err
}

// head returns the head of the first size lines, or of all if negative. It fails if there are fewer lines.
func (r *Service) head(size int64) (record.Head, error) {
	return data.Read(r.Data, "the record", func(tx *store.Tx) (record.Head, error) {
		log := tx.Log()
		if all, _ := log.Size(); size < 0 || size > all {
			size = all
		}
		return record.HeadOf(log, size)
	})
}

// RecordState returns the record's state. While the keyring is locked its head is not signed.
func (r *Service) RecordState() (x office.Record, err error) {
	_, signed, locked := r.signedHead()
	if locked != nil {
		r.Log.Warn("the record is not signed now", "err", locked)
	}
	h, err := r.head(-1)
	if err != nil {
		return x, err
	}
	last, _, err := r.lastStamp()
	return office.Record{Size: h.N, Line: record.Fingerprint(h, r.Now()), Head: string(signed), Stamped: last.Size, StampedAt: last.At, StampedBy: last.By}, err
}

// CheckRecord says whether a line that somebody has kept, or a copy of the record in a folder, matches the present record.
func (r *Service) CheckRecord(line string) (said message.Message, fits bool, err error) {
	h, known := record.ReadFingerprint(line)
	if info, failed := os.Stat(line); failed == nil && info.IsDir() {
		h, err = readCopy(line)
		if errors.Is(err, errOtherCopy) {
			return message.RecordDiffers(), false, nil
		}
		if err != nil {
			return said, false, message.Error(message.RecordCopyUnread(line), err)
		}
		known = true
	}
	if !known {
		return message.RecordNoLine(), false, nil
	}
	now, err := r.head(h.N)
	switch {
	case err != nil:
		return said, false, err
	case now.N < h.N:
		return message.RecordLater(int(h.N - now.N)), false, nil
	case now.Hash != h.Hash:
		return message.RecordDiffers(), false, nil
	}
	return message.RecordConsistent(int(h.N)), true, nil
}

// WakeRecord makes RunRecord follow changed settings.
func (r *Service) WakeRecord() { loop.Wake(r.settled) }

// RunRecord maintains the record, and checks the saved files, until ctx ends.
func (r *Service) RunRecord(ctx context.Context) error {
	if err := r.tellAstray(); err != nil {
		return err
	}
	for pause := time.Minute; loop.Wait(ctx, pause, r.settled); {
		if pause = time.Hour; r.deps.Busy() {
			pause = time.Minute
			continue
		}
		if err := r.keepRecord(ctx); err != nil {
			return err
		}
		if err := r.checkFiles(ctx); err != nil {
			return err
		}
	}
	return nil
}

// today returns when tasks were last done, and the present counted day.
func (r *Service) today() (done kept, today int, err error) {
	today, err = data.Read(r.Data, "the day", func(tx *store.Tx) (int, error) {
		tx.GetDoc(docKept, &done)
		return tx.Day()
	})
	return done, today, err
}

// keepRecord stamps and copies the head unless that was done today with the same settings. A failure is retried within the hour.
func (r *Service) keepRecord(ctx context.Context) error {
	s := r.deps.Settings()
	done, today, err := r.today()
	if s.StampURL == "" && !s.MirrorRecord {
		r.Health.Clear(health.RecordWaits)
		return err
	}
	as := fmt.Sprintln(s.StampURL, s.MirrorRecord, s.SaveTo)
	if err != nil || done.Record == today && done.As == as {
		return err
	}
	h, signed, err := r.signedHead()
	if err != nil {
		r.Log.Warn("the record cannot be signed", "err", err)
		return nil // health reports that the keyring is locked
	}
	var failed message.Message
	if err := r.stamp(ctx, s.StampURL, h, signed); err != nil {
		r.Log.Warn("stamp the record", "err", err)
		failed = message.RecordStampFails(s.StampURL)
	}
	if s.MirrorRecord {
		if err := r.copyRecord(s.SaveTo, h, signed); err != nil {
			r.Log.Warn("copy the record", "err", err)
			failed = message.Then(failed, message.RecordCopyFails(s.SaveTo))
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	r.Health.Update(health.RecordWaits, failed)
	if !failed.IsZero() {
		return nil
	}
	return r.Data.Update(func(tx *store.Tx) error {
		var done kept
		tx.GetDoc(docKept, &done)
		done.Record, done.As = today, as
		return tx.PutDoc(docKept, done)
	})
}

// Stamps returns the stamped heads, which move along with the record.
func Stamps(tx *store.Tx) (all []json.RawMessage) {
	for _, one := range store.Docs[json.RawMessage](tx, stampDocs, "") {
		all = append(all, one)
	}
	return all
}

// Adopt continues another computer's record here. What was logged here before, such as a new key, belonged to no office.
func Adopt(tx *store.Tx, lines []store.Record, stamps []json.RawMessage) {
	tx.ClearLog()
	tx.PutDoc(docKey, nil)
	for _, r := range lines {
		tx.Import(r)
	}
	size, _ := tx.Log().Size()
	for _, one := range stamps {
		if x := (stampedHead{}); json.Unmarshal(one, &x) == nil && 0 < x.Size && x.Size <= size {
			tx.PutDoc(stampDoc(x.Size), x)
		}
	}
}

func stampDoc(size int64) string { return fmt.Sprintf("%s%015d", stampDocs, size) }

func (r *Service) lastStamp() (last stampedHead, known bool, err error) {
	last, err = data.Read(r.Data, "the last time stamp", func(tx *store.Tx) (last stampedHead, err error) {
		names, err := tx.DocNames(stampDocs)
		if err == nil && len(names) > 0 {
			known, err = tx.GetDoc(names[len(names)-1], &last)
		}
		return last, err
	})
	return last, known, err
}

const (
	stampPatience = time.Minute
	maxStamp      = 1 << 20 // bytes of an answer
)

// stamp gets an authority's time stamp for the head, unless it has not grown.
func (r *Service) stamp(ctx context.Context, address string, h record.Head, signed []byte) error {
	last, _, err := r.lastStamp()
	if err != nil || address == "" || h.N <= last.Size {
		return err
	}
	got, err := r.askStamp(ctx, address, signed)
	if err != nil {
		return err
	}
	x := stampedHead{Head: string(signed), Size: h.N, Token: got.Token, At: got.At, By: got.Authority}
	return r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(stampDoc(h.N), x) })
}

// askStamp gets an authority's time stamp for data, of which it sees only a hash.
func (r *Service) askStamp(ctx context.Context, address string, of []byte) (seal.Stamp, error) {
	sum := sha256.Sum256(of)
	question, nonce, err := seal.StampRequest(sum)
	if err != nil {
		return seal.Stamp{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stampPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(question))
	if err != nil {
		return seal.Stamp{}, err
	}
	request.Header.Set("Content-Type", "application/timestamp-query")
	answer, err := r.deps.HTTP.Do(request)
	if err != nil {
		return seal.Stamp{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxStamp))
	if err != nil {
		return seal.Stamp{}, err
	}
	if answer.StatusCode != http.StatusOK {
		return seal.Stamp{}, fmt.Errorf("the time stamp service answers %s", answer.Status)
	}
	trust, err := r.trust()
	if err != nil {
		return seal.Stamp{}, err
	}
	return trust.ReadStamp(body, sum, nonce)
}

// TestStamp requests a stamp without storing it, and returns the authority's name. Errors have a message for people.
func (r *Service) TestStamp(ctx context.Context, address string) (authority string, err error) {
	got, err := r.askStamp(ctx, address, []byte(r.Now().String()))
	switch {
	case errors.Is(err, seal.ErrStranger):
		err = message.Error(message.StampStranger(address), err)
	case err != nil && ctx.Err() == nil:
		err = message.Error(message.StampSilent(address), err)
	}
	return got.Authority, err
}

// copyLines is the maximum number of lines in a file of a copy.
const copyLines = 10_000

const (
	maxCopyFile = 256 << 20 // bytes read of a file of a copy
	maxCopyLine = 4 << 20   // bytes of a line
)

// copyName is the name of a file with lines, from the numbers of the first and last.
const copyName = "%09d-%09d.jsonl"

type copyFile struct {
	name        string
	first, last int64 // counted from 1
}

// copied returns the files of a copy that form a sequence from the first line on.
func copied(entries []fs.DirEntry) (list []copyFile) {
	for _, e := range entries {
		var f copyFile
		if _, err := fmt.Sscanf(e.Name(), copyName, &f.first, &f.last); err == nil && e.Name() == fmt.Sprintf(copyName, f.first, f.last) {
			f.name = e.Name()
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b copyFile) int { return cmp.Compare(a.first, b.first) })
	end := int64(0)
	for i, f := range list {
		if f.first != end+1 || f.last < f.first {
			return list[:i]
		}
		end = f.last
	}
	return list
}

// copyRecord adds what is missing to the copy beside the documents.
func (r *Service) copyRecord(folder string, h record.Head, signed []byte) error {
	if err := r.deps.FolderAway(folder); err != nil {
		return err
	}
	root, err := disk.OpenDir(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	name := "Countersign record " + r.deps.Installation()[:8] // one for each computer
	end, err := r.continues(root, name)
	if errors.Is(err, errOtherCopy) {
		if err := root.Move(name, root, name+r.Now().UTC().Format(" until 2006-01-02 150405")); err != nil {
			return err
		}
		r.Health.Set(health.RecordOlder, message.RecordOlder(folder))
		r.Record(office.Activity{Kind: office.ActivityProblem, Text: message.RecordOlder(folder)})
		end, err = 0, nil
	}
	if err != nil {
		return err
	}
	to, err := root.Make(name, 0o777)
	if err != nil {
		return err
	}
	defer to.Close()
	for end < h.N {
		first, last := end+1, min(end+copyLines, h.N)
		lines, err := r.lines(first, last)
		if err == nil {
			err = to.WriteNew(fmt.Sprintf(copyName, first, last), lines, 0o666)
		}
		if err != nil {
			return err
		}
		end = last
	}
	files := map[string][]byte{fmt.Sprintf("%09d.head.txt", h.N): signed}
	if last, known, err := r.lastStamp(); err != nil {
		return err
	} else if known {
		files[fmt.Sprintf("%09d.head.txt", last.Size)] = []byte(last.Head)
		files[fmt.Sprintf("%09d.tst", last.Size)] = last.Token
	}
	for name, content := range files {
		if err := to.WriteNew(name, content, 0o666); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

var errOtherCopy = errors.New("the copy has other lines")

// continues returns how many lines a copy has, all of which must be the record's.
func (r *Service) continues(root *disk.Dir, name string) (int64, error) {
	at, err := root.Sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer at.Close()
	h, _, err := headOfCopy(at)
	if err != nil {
		return 0, err
	}
	if now, err := r.head(h.N); err != nil || now != h {
		return 0, cmp.Or(err, errOtherCopy)
	}
	return h.N, nil
}

// lines returns the lines from first to last, counted from 1.
func (r *Service) lines(first, last int64) ([]byte, error) {
	return data.Read(r.Data, "the record", func(tx *store.Tx) (all []byte, err error) {
		err = tx.Log().From(first-1, func(n int64, line []byte) bool {
			if n >= last {
				return false
			}
			all = append(append(all, line...), '\n')
			return true
		})
		return all, err
	})
}

// headOfCopy computes a copy's head from its lines alone, and finds the key valid at its end.
func headOfCopy(at *disk.Dir) (h record.Head, key string, err error) {
	entries, err := at.List()
	if err != nil {
		return h, "", err
	}
	var tree record.Tree
	in := bufio.NewReaderSize(nil, maxCopyLine)
	for _, f := range copied(entries) {
		file, err := at.Open(f.name, nil, 0)
		if err != nil {
			return h, "", err
		}
		for in.Reset(io.LimitReader(file, maxCopyFile)); err == nil; {
			var line []byte
			if line, err = in.ReadSlice('\n'); err == nil {
				line = line[:len(line)-1]
				tree.Add(line)
				if fact := (record.Fact{}); bytes.Contains(line, []byte(`"fact":"key"`)) && json.Unmarshal(line, &fact) == nil {
					key = fact.Key
				}
			}
		}
		file.Close()
		switch {
		case errors.Is(err, bufio.ErrBufferFull), err == io.EOF && tree.Head().N != f.last:
			return h, "", errOtherCopy
		case err != io.EOF:
			return h, "", err
		}
	}
	return tree.Head(), key, nil
}

// readCopy returns a copy's head, if it matches the one signed when the copy was made. Otherwise it fails with errOtherCopy, or with
// another error if the copy cannot be read completely: it may be stored anywhere.
func readCopy(folder string) (h record.Head, err error) {
	at, err := disk.OpenDir(folder)
	if err != nil {
		return h, err
	}
	defer at.Close()
	h, key, err := headOfCopy(at)
	if err != nil {
		return h, err
	}
	file, err := at.Open(fmt.Sprintf("%09d.head.txt", h.N), nil, 0)
	if err != nil {
		return h, err
	}
	defer file.Close()
	signed, err := io.ReadAll(io.LimitReader(file, maxCopyLine))
	if err != nil {
		return h, err
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return h, errOtherCopy
	}
	if said, err := record.Open(signed, verifier); err != nil || said != h {
		return h, errOtherCopy
	}
	return h, nil
}
