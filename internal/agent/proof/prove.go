package proof

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/evidence"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/record"
	"countersign/internal/store"
)

// Prove writes a new file at path that proves a package to people without this program, see package evidence; it replaces an
// existing one only if the person has agreed. events are the package's, in words. The error is for people.
func (r *Service) Prove(ctx context.Context, packageID string, events []office.EventLine, path string, replace bool) error {
	p, known, err := r.Data.Package(packageID)
	if err == nil && !known {
		err = message.Error(message.NoSuchPackage(packageID), nil)
	}
	if err != nil {
		return err
	}
	files := func() ([]office.Job, error) {
		return data.Read(r.Data, "the files of a package", func(tx *store.Tx) ([]office.Job, error) { return tx.JobsOf(packageID) })
	}
	jobs, err := files()
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.State == office.JobDone && j.Seal.Due() {
			if err := r.examine(ctx, j); err != nil {
				return err
			}
		}
	}
	if jobs, err = files(); err != nil {
		return err
	}
	kinds := []office.FileKind{office.FileSigned, office.FileMaster, office.FileCertificate}
	slices.SortStableFunc(jobs, func(a, b office.Job) int {
		return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
	})
	err = private.WriteFile(path, disk.CreateOr(replace), func(w io.Writer) error { return r.prove(ctx, w, contents{p, jobs, events}) })
	if errors.Is(err, fs.ErrExist) {
		return message.Error(message.NameTaken(filepath.Base(path)), nil)
	}
	if err != nil && ctx.Err() == nil {
		return message.Error(message.ProofNotWritten(filepath.Base(path)), err)
	}
	return err
}

type contents struct {
	p      office.Package
	jobs   []office.Job
	events []office.EventLine
}

// prove writes the proof of a package.
func (r *Service) prove(ctx context.Context, w io.Writer, c contents) error {
	now := r.Now()
	bundle := evidence.NewBundle(w, now)
	report := evidence.Report{
		Title:    r.say(message.ProofOf(c.p.DisplayName())),
		Subtitle: r.say(message.ProofMade(r.deps.Version, moment(now))),
		Made:     now,
		Parts:    []evidence.Part{r.packagePart(c.p), r.signersPart(c.p)},
	}
	var sealed []string
	for _, j := range c.jobs {
		if j.State != office.JobDone {
			continue
		}
		part, as, same, err := r.documentPart(ctx, bundle, j)
		if err != nil {
			return err
		}
		report.Parts = append(report.Parts, part)
		if same && (j.Seal.State == office.SealIntact || j.Seal.State == office.SealStranger) {
			sealed = append(sealed, as)
		}
	}
	sent, err := r.sentPart(ctx, bundle, c.p)
	if err != nil {
		return err
	}
	history := evidence.Part{Title: r.say(message.ProofHistory())}
	for _, h := range c.p.History {
		history.Add(r.when(h.Time), r.deps.Words().Brief(c.p.Tell(h)))
	}
	events, err := r.eventsPart(bundle, c.events)
	if err != nil {
		return err
	}
	log, stamped, err := r.recordPart(ctx, bundle, c)
	if err != nil {
		return err
	}
	report.Parts = append(report.Parts, sent, history, events, log, r.checkPart(sealed, stamped))
	report.Parts = slices.DeleteFunc(report.Parts, func(p evidence.Part) bool { return len(p.Lines) == 0 })
	for name, write := range map[string]func(io.Writer) error{"Proof.pdf": report.PDF, "Proof.txt": report.Text} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		bundle.Add("", name, &b)
	}
	return bundle.Close()
}

func (r *Service) packagePart(p office.Package) evidence.Part {
	part := evidence.Part{Title: r.say(message.ProofPackage())}
	part.Add(r.say(message.ProofName()), p.DisplayName())
	part.Add(r.say(message.ProofID()), p.ID)
	part.Add(r.say(message.ProofReference()), p.Reference)
	part.Add(r.say(message.ProofService()), p.Service)
	return part
}

func (r *Service) signersPart(p office.Package) evidence.Part {
	part := evidence.Part{Title: r.say(message.ProofSigners())}
	for _, s := range p.Signers {
		what := message.ProofUnsigned()
		switch status, _ := p.StatusOf(s); status {
		case office.SignerSigned:
			at := p.SignedAt(s.ID)
			if at.IsZero() {
				at = office.When{Time: p.Executed.Time, By: true}
			}
			what = message.ProofSignedAt(r.when(at))
		case office.SignerDeclined:
			what = message.ProofDeclinedAt(r.when(s.Declined))
		}
		part.Add(strings.TrimSpace(s.DisplayName()), strings.Join(slices.DeleteFunc([]string{s.Email, r.say(what)}, func(t string) bool { return t == "" }), "\n"))
	}
	return part
}

// documentPart adds a saved file to the bundle, and returns its name there, and what is known of it if it is unchanged.
func (r *Service) documentPart(ctx context.Context, b *evidence.Bundle, j office.Job) (part evidence.Part, as string, same bool, err error) {
	part.Title = path.Base(j.Target)
	file, err := archive.OpenSaved(j.Folder, j.At())
	if err != nil {
		part.Add(r.say(message.ProofSaved()), moment(j.Done)+"\n"+r.say(message.ProofFileMissing()))
		return part, "", false, ctx.Err()
	}
	defer file.Close()
	if same, err = archive.IsSaved(file, j.Size, j.Digest); err != nil {
		return part, "", false, err
	}
	folder := "documents"
	if same && j.Seal.SHA256 == "" {
		folder = "unexamined" // the record has no SHA-256 of it for the script to find
	}
	as, sum := b.Add(folder, path.Base(j.Target), archive.Reader{Ctx: ctx, Reader: file})
	part.Add(r.say(message.ProofFile()), as)
	part.Add("SHA-256", sum)
	if !same {
		part.Add(r.say(message.ProofSaved()), moment(j.Done)+"\n"+r.say(message.ProofOtherFile()))
		return part, as, false, nil
	}
	part.Add(r.say(message.ProofSaved()), moment(j.Done)+"\n"+r.say(message.ProofSameFile()))
	part.Add(r.say(message.ProofMatch()), r.say(j.Match.Text()))
	part.Add(r.say(message.ProofSeal()), r.say(j.Seal.Text()))
	part.Add(r.say(message.ProofIssuer()), j.Seal.Issuer)
	if !j.Seal.At.IsZero() {
		part.Add(r.say(message.ProofSealedAt()), moment(j.Seal.At))
		part.Add(r.say(message.ProofStamped()), j.Seal.Stamped)
	}
	part.Add("", r.say(j.Seal.Revocation()))
	return part, as, true, nil
}

// eventsPart adds the events to the bundle as received, as far as they are still kept.
func (r *Service) eventsPart(b *evidence.Bundle, lines []office.EventLine) (evidence.Part, error) {
	part := evidence.Part{Title: r.say(message.ProofEvents())}
	for _, l := range lines {
		e, err := data.Read(r.Data, "an event", func(tx *store.Tx) (office.Event, error) {
			e, _, err := tx.Event(l.ID)
			return e, err
		})
		if err != nil {
			return part, err
		}
		what := []string{cmp.Or(r.say(l.Text), l.Action), l.ID}
		if len(e.Body) > 0 {
			as, sum := b.Add("events", e.Received.UTC().Format("2006-01-02T150405Z ")+cmp.Or(e.Action, "event")+".json", bytes.NewReader(e.Body))
			what = append(what, as, sum)
		}
		part.Add(moment(l.Received), strings.Join(what, "\n"))
	}
	return part, nil
}

// recordPart adds the record's lines about a package and its events, which may spell its id in another way, to the bundle, with proofs
// that they are covered by one head: the last stamped one if it includes them all, otherwise the present one.
func (r *Service) recordPart(ctx context.Context, b *evidence.Bundle, c contents) (part evidence.Part, stamped bool, err error) {
	part.Title = r.say(message.ProofRecord())
	last, _, err := r.lastStamp()
	if err != nil {
		return part, false, err
	}
	now, signed, locked := r.signedHead()
	if locked != nil { // the keyring is locked, so the head is not signed
		r.Log.Info("a proof has a head that is not signed", "err", locked)
		if now, err = r.head(-1); err != nil {
			return part, false, err
		}
		signed = fmt.Appendf(nil, "countersign\n%d\n%s\n", now.N, now.Hash)
	}
	var mine []int64
	err = r.eachFact(ctx, func(n int64, f record.Fact) {
		event := f.Event != nil && slices.ContainsFunc(c.events, func(l office.EventLine) bool { return l.ID == f.Event.ID })
		if n < now.N && (event || f.Package == c.p.ID || c.p.DraftID != "" && f.Draft == c.p.DraftID) {
			mine = append(mine, n)
		}
	})
	if err != nil || len(mine) == 0 {
		return part, false, err
	}
	lines, err := data.Read(r.Data, "the record", func(tx *store.Tx) (lines []record.Proven, err error) {
		log := tx.Log()
		size := now.N
		if stamped = mine[len(mine)-1] < last.Size; stamped {
			size = last.Size
		}
		for _, n := range mine {
			x, err := record.Prove(log, size, n)
			if err != nil {
				return nil, err
			}
			lines = append(lines, x)
		}
		return lines, nil
	})
	if err != nil {
		return part, false, err
	}
	files := map[string][]byte{"head.txt": signed, "check.sh": record.Script(lines)}
	if stamped {
		files["head.txt"], files["stamp.tst"] = []byte(last.Head), last.Token
		part.Add(r.say(message.ProofStamped()), last.By+"\n"+moment(last.At))
	}
	for _, x := range lines {
		files[x.Name] = x.Line
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b.Add("record", name, bytes.NewReader(files[name]))
	}
	part.Add("", r.say(message.ProofRecordLines(len(lines))))
	return part, stamped, nil
}

// checkPart says how to check the bundle without this program; sealed are the names of its sealed documents.
func (r *Service) checkPart(sealed []string, stamped bool) evidence.Part {
	part := evidence.Part{Title: r.say(message.ProofCheck())}
	step := func(text message.Message, command string) {
		part.Add("", r.say(text))
		part.Lines = append(part.Lines, evidence.Line{Value: command, Command: true})
	}
	step(message.ProofCheckSums(), "sha256sum --check "+evidence.Sums)
	for i, as := range sealed {
		if i == 0 {
			part.Add("", r.say(message.ProofCheckSeal()))
		}
		part.Lines = append(part.Lines, evidence.Line{Value: "pdfsig " + quoted(as), Command: true})
	}
	step(message.ProofCheckRecord(), "sh record/check.sh")
	if stamped {
		step(message.ProofCheckStamp(), "openssl ts -verify -token_in -in record/stamp.tst -data record/head.txt -CAfile authority.pem")
	}
	return part
}

// quoted returns a file's name, chosen by others, as a shell word.
func quoted(name string) string {
	return "'./" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

func (r *Service) say(m message.Message) string { return r.deps.Words().Text(m) }

// moment writes a time that reads the same everywhere.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// when writes the time at which something happened, or by which.
func (r *Service) when(w office.When) string {
	if w.By {
		return r.say(message.ByTime(moment(w.Time)))
	}
	return moment(w.Time)
}
