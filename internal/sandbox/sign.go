package sandbox

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"image"
	"image/draw"
	"image/png"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/sandbox/press"

	"github.com/digitorus/timestamp"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/pkcs7"
	bolt "go.etcd.io/bbolt"
)

// packageLocks serialize the changes of a package without locking the database while PDFs are made.
type packageLocks [64]sync.Mutex

func (l *packageLocks) of(packageID string) *sync.Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(packageID))
	return &l[h.Sum32()%uint32(len(l))]
}

// changePack applies one change to a package and stores it together with the events it causes.
func (s *Server) changePack(id string, change func(p *pack, now time.Time) ([]event, error)) error {
	lock := s.locks.of(id)
	lock.Lock()
	defer lock.Unlock()
	p, err := read[pack](s.db, bucketPackages, id)
	if errors.Is(err, errNotFound) {
		return notFound("package")
	}
	if err != nil {
		return err
	}
	now := s.opt.Now()
	events, err := change(&p, now)
	if err != nil {
		return err
	}
	p.TimeModified = now
	return s.db.Update(func(tx *bolt.Tx) error {
		if err := s.putPack(tx, &p); err != nil {
			return err
		}
		return s.delivery.enqueue(tx, &p, events)
	})
}

// Sign signs every document whose turn it is for this signer, with the signer's typed name. It fails if there is none.
func (s *Server) Sign(packageID, signerID string) error {
	return s.signAs(packageID, signerID, signature{})
}

// signAs signs everything that is the signer's turn. The PDFs of documents completed by this exist before the state says so.
func (s *Server) signAs(packageID, signerID string, how signature) error {
	return s.changePack(packageID, func(p *pack, now time.Time) ([]event, error) {
		sg, ok := p.signer(signerID)
		if !ok {
			return nil, notFound("signer")
		}
		if how.Typed == "" && len(how.PNG) == 0 {
			how.Typed = sg.fullName()
		}
		var events []event
		for i := range p.Documents {
			d := &p.Documents[i]
			for n := range d.Revisions {
				r := &d.Revisions[n]
				if r.SignerID != signerID || !p.isTurn(d, n, now) {
					continue
				}
				r.TimeSigned, r.Signature = &now, &how
				events = append(events, signedEvent(p, d, n, now))
				if d.signed() < len(d.Revisions) {
					continue
				}
				d.TimeExecuted = &now
				if err := s.writeExecuted(p, d); err != nil {
					return nil, err
				}
				events = append(events, documentExecutedEvent(p, d, now))
			}
		}
		if len(events) == 0 {
			return nil, badRequest("signer_invalid_turn", "There is nothing for this signer to sign now.")
		}
		if p.allExecuted() {
			p.State, p.TimeExecuted = stateExecuted, &now
			events = append(events, packageEvents(p, now, actionExecuted)...)
		}
		return events, nil
	})
}

func (p *pack) allExecuted() bool {
	return len(p.Documents) > 0 && !slices.ContainsFunc(p.Documents, func(d document) bool { return d.TimeExecuted == nil })
}

// Decline removes a signer. The package stays open and waits: what the real service does is not documented.
func (s *Server) Decline(packageID, signerID, reason string) error {
	return s.changePack(packageID, func(p *pack, now time.Time) ([]event, error) {
		sg, ok := p.signer(signerID)
		if !ok {
			return nil, notFound("signer")
		}
		if p.stateAt(now) != stateOpen || sg.State != signerActive || p.signedBy(signerID) {
			return nil, badRequest("signer_invalid_turn", "There is nothing for this signer to decline now.")
		}
		sg.State, sg.DeclineReason, sg.TimeDeclined = signerDeclined, reason, &now
		return nil, nil
	})
}

func (s *Server) linkURL(token string) string { return s.url + "/link/" + token }

// opened is what a signing link gives access to.
type opened struct {
	token  string
	pack   *pack
	signer *signer
}

// open finds the package and signer of a link. Whoever has the link is the signer.
func (s *Server) open(w http.ResponseWriter, r *http.Request) (opened, bool) {
	token := r.PathValue("token")
	l, err := read[link](s.db, bucketLinks, token)
	if err != nil {
		s.showProblem(w, http.StatusNotFound, "This link opens nothing.", "It may be incomplete, or the package no longer exists.")
		return opened{}, false
	}
	p := s.pack(l.PackageID) // never nil: it is stored together with its links
	sg, _ := p.signer(l.SignerID)
	return opened{token, p, sg}, true
}

// signerPage is GET /link/{token}.
func (s *Server) signerPage(w http.ResponseWriter, r *http.Request) {
	if in, ok := s.open(w, r); ok {
		s.showSigner(w, http.StatusOK, in, "")
	}
}

func (s *Server) showSigner(w http.ResponseWriter, status int, in opened, problem string) {
	type line struct {
		Name, Link, Word string
		Pages            int
		Done, Turn       bool
	}
	now, p := s.opt.Now(), in.pack
	documents, people := []line{}, []line{}
	for i := range p.Documents {
		d := &p.Documents[i]
		at := line{Name: d.Name, Link: "/link/" + in.token + "/documents/" + d.DocumentID, Pages: d.Pages, Word: "waiting for the others"}
		for n, r := range d.Revisions {
			if r.SignerID != in.signer.SignerID {
				continue
			}
			switch {
			case r.TimeSigned != nil:
				at.Done, at.Word = true, "you signed"
			case p.isTurn(d, n, now):
				at.Turn, at.Word = true, "your turn"
			}
		}
		documents = append(documents, at)
	}
	for i := range p.Signers {
		word, done, turn := p.standing(&p.Signers[i], now)
		name := p.Signers[i].fullName()
		if p.Signers[i].SignerID == in.signer.SignerID {
			name += " (you)"
		}
		people = append(people, line{Name: name, Word: word, Done: done, Turn: turn})
	}
	s.show(w, status, "signer.html", map[string]any{
		"Title": p.Name, "Pack": p, "Signer": in.signer, "Name": in.signer.fullName(), "Documents": documents, "People": people,
		"CanSign": p.hasTurn(in.signer.SignerID, now), "Note": in.note(now), "Words": p.RescindMessage, "Problem": problem, "Action": "/link/" + in.token,
	})
}

// note says why there is nothing to sign.
func (in opened) note(now time.Time) string {
	switch in.pack.stateAt(now) {
	case stateExecuted:
		return "Everyone has signed. There is nothing left to do."
	case stateExpired:
		return "The day by which this was to be signed has passed."
	case stateRescinded:
		return "The sender has withdrawn this package."
	case stateOpen:
	default:
		return "The sender has not sent this package yet."
	}
	switch {
	case in.signer.State == signerDeclined:
		return "You have declined to sign."
	case in.pack.signedBy(in.signer.SignerID):
		return "You have signed. The others are still to sign."
	}
	return "Someone signs before you. Come back when it is your turn."
}

// signerChoice is POST /link/{token}: sign or decline.
func (s *Server) signerChoice(w http.ResponseWriter, r *http.Request) {
	in, ok := s.open(w, r)
	if !ok {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2<<20)
	var err error
	if r.PostFormValue("do") == "decline" {
		err = s.Decline(in.pack.PackageID, in.signer.SignerID, strings.TrimSpace(r.PostFormValue("reason")))
	} else {
		how := signature{PNG: drawn(r.PostFormValue("drawn"))}
		if how.PNG == nil {
			how.Typed = strings.TrimSpace(r.PostFormValue("typed")) // it is prefilled, so a drawing takes precedence
		}
		if how.Typed == "" && how.PNG == nil {
			s.showSigner(w, http.StatusBadRequest, in, "Draw or type a signature first.")
			return
		}
		err = s.signAs(in.pack.PackageID, in.signer.SignerID, how)
	}
	var known *apiError
	switch {
	case errors.As(err, &known):
		s.showSigner(w, known.Status, in, known.Message)
	case err != nil:
		s.showFailure(w, err)
	default:
		http.Redirect(w, r, "/link/"+in.token, http.StatusSeeOther)
	}
}

// drawn decodes a signature drawn on the page, and encodes it again so that only a plain picture is kept. It returns nil for
// anything else.
func drawn(dataURL string) []byte {
	encoded, ok := strings.CutPrefix(dataURL, "data:image/png;base64,")
	if !ok {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	const most = 3000 // pixels
	size, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil || size.Width > most || size.Height > most || size.Width == 0 || size.Height == 0 {
		return nil
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	plain := image.NewNRGBA(image.Rect(0, 0, size.Width, size.Height))
	draw.Draw(plain, plain.Bounds(), picture, picture.Bounds().Min, draw.Src)
	var out bytes.Buffer
	if png.Encode(&out, plain) != nil {
		return nil
	}
	return out.Bytes()
}

// signerDocument is GET /link/{token}/documents/{documentId}: the pages to sign, or as signed.
func (s *Server) signerDocument(w http.ResponseWriter, r *http.Request) {
	in, ok := s.open(w, r)
	if !ok {
		return
	}
	d, ok := in.pack.document(r.PathValue("documentId"))
	if !ok {
		s.showProblem(w, http.StatusNotFound, "This link opens nothing.", "The document is not part of the package.")
		return
	}
	path := s.filePath(d.FileID)
	if d.TimeExecuted != nil {
		if _, err := os.Stat(s.executedPath(d.DocumentID)); err == nil {
			path = s.executedPath(d.DocumentID)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		s.showFailure(w, err)
		return
	}
	defer f.Close() // opened for reading only
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", strings.Replace(attachment(d.Name+".pdf"), "attachment", "inline", 1))
	noStore(w)
	http.ServeContent(w, r, "", time.Time{}, f)
}

// sealer seals the PDFs that the service delivers (PAdES B-T, ETSI EN 319 142-1), with its own certificates: a root, a
// signer and a time-stamping authority (RFC 3161). They are created once for a data folder.
type sealer struct {
	key       *rsa.PrivateKey // shared by all three
	root      *x509.Certificate
	signer    *x509.Certificate
	authority *x509.Certificate
}

// openSealer reads the certificates in a folder, creating them if they are missing.
func openSealer(dir string, now time.Time) (*sealer, error) {
	path := filepath.Join(dir, "seal.der")
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if kept, err = makeSealer(now); err == nil {
			err = writeFile(path, kept)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the seal: %w", err)
	}
	var parts struct{ Key, Certificates []byte }
	if _, err := asn1.Unmarshal(kept, &parts); err != nil {
		return nil, fmt.Errorf("opening the seal: %w", err)
	}
	key, err := x509.ParsePKCS1PrivateKey(parts.Key)
	if err != nil {
		return nil, fmt.Errorf("opening the seal: %w", err)
	}
	certificates, err := x509.ParseCertificates(parts.Certificates)
	if err != nil || len(certificates) != 3 {
		return nil, fmt.Errorf("opening the seal: it has %d certificates: %w", len(certificates), err)
	}
	return &sealer{key, certificates[0], certificates[1], certificates[2]}, nil
}

func makeSealer(now time.Time) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "Signing service sandbox CA"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	certificates := [3]*x509.Certificate{
		root,
		{Subject: pkix.Name{CommonName: "Signing service sandbox"}, KeyUsage: x509.KeyUsageContentCommitment},
		{Subject: pkix.Name{CommonName: "Signing service sandbox, time stamps"}, ExtraExtensions: []pkix.Extension{stampsOnly()}},
	}
	var all []byte
	for i, c := range certificates {
		c.SerialNumber, c.BasicConstraintsValid = big.NewInt(int64(i+1)), true
		c.NotBefore, c.NotAfter = now.AddDate(0, 0, -1), now.AddDate(20, 0, 0)
		der, err := x509.CreateCertificate(rand.Reader, c, root, &key.PublicKey, key)
		if err != nil {
			return nil, err
		}
		all = append(all, der...)
	}
	return asn1.Marshal(struct{ Key, Certificates []byte }{x509.MarshalPKCS1PrivateKey(key), all})
}

// stampsOnly is the critical key purpose that RFC 3161, section 2.3, requires of an authority.
func stampsOnly() pkix.Extension {
	value, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	if err != nil {
		panic(err) // the identifier above would be wrong
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: value}
}

var (
	oidSHA256      = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidSigningCert = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47} // RFC 5035, section 3
	oidTimeStamp   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
)

// sign creates a time-stamped seal over the covered bytes.
func (s *sealer) sign(at time.Time, covered ...[]byte) ([]byte, error) {
	digest := sha256.Sum256(slices.Concat(covered...))
	own := sha256.Sum256(s.signer.Raw)
	named := struct{ List []struct{ Hash []byte } }{[]struct{ Hash []byte }{{own[:]}}}
	make := func(unsigned ...pkcs7.Attribute) ([]byte, error) {
		d, err := pkcs7.NewSignedData()
		if err != nil {
			return nil, err
		}
		if err := d.AddSignerChain(s.signer, s.key, digest[:], oidSHA256, []*x509.Certificate{s.root}, pkcs7.SignerInfoConfig{
			ExtraSignedAttributes: []pkcs7.Attribute{{Type: oidSigningCert, Value: named}}, ExtraUnsignedAttributes: unsigned,
		}); err != nil {
			return nil, err
		}
		return d.Finish()
	}
	bare, err := make()
	if err != nil {
		return nil, err
	}
	parsed, err := pkcs7.Parse(bare)
	if err != nil {
		return nil, err
	}
	token, err := s.stamp(at, parsed.Signers[0].EncryptedDigest)
	if err != nil {
		return nil, err
	}
	return make(pkcs7.Attribute{Type: oidTimeStamp, Value: asn1.RawValue{FullBytes: token}}) // RSA signatures are deterministic
}

// stamp creates a time stamp for a signature.
func (s *sealer) stamp(at time.Time, signature []byte) ([]byte, error) {
	sum := sha256.Sum256(signature)
	answer, err := (&timestamp.Timestamp{
		HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Time: at.UTC(), Policy: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 32473, 1},
		AddTSACertificate: true, Certificates: []*x509.Certificate{s.root},
	}).CreateResponseWithOpts(s.authority, s.key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	parsed, err := timestamp.ParseResponse(answer)
	if err != nil {
		return nil, err
	}
	return parsed.RawToken, nil
}

// sealed is a document with the service's seal if Options.Seal is set; one that cannot be sealed is returned unchanged.
func (s *Server) sealed(document []byte, at time.Time) []byte {
	if s.sealer == nil {
		return document
	}
	prepared, err := s.press.Prepare(document, at)
	if err != nil {
		s.opt.Log.Info("a document could not be sealed", "error", err)
		return document
	}
	sealed, err := press.Fill(prepared, func(covered ...[]byte) ([]byte, error) { return s.sealer.sign(at, covered...) })
	if err != nil {
		s.opt.Log.Error("sealing a document failed", "error", err)
		return document
	}
	return sealed
}

// SealRoot is the root certificate of the service's seals; nil if it makes none.
func (s *Server) SealRoot() *x509.Certificate {
	if s.sealer == nil {
		return nil
	}
	return s.sealer.root
}
