package seal

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxSeals     = 64      // in one file
	maxSignature = 4 << 20 // bytes between < and >
	nearby       = 64 << 10
)

// stampMethod is the method of an authority's time stamp over the file itself.
const stampMethod = "ETSI.RFC3161"

// found is a signature dictionary in a file (ISO 32000-1, 12.8.1). Nothing else of the PDF is parsed: if a signature covers
// the whole file except itself, everything is as it was signed.
type found struct {
	gapStart, gapEnd int64 // from < to after >
	end              int64 // of the covered bytes
	method           string
	claimed          time.Time
	signature        []byte
}

var (
	byteRange = regexp.MustCompile(`^/ByteRange[\s\x00]*\[[\s\x00]*(\d{1,18})[\s\x00]+(\d{1,18})[\s\x00]+(\d{1,18})[\s\x00]+(\d{1,18})[\s\x00]*\]`)
	subFilter = regexp.MustCompile(`/SubFilter[\s\x00]*/([A-Za-z0-9.]+)`)
	signedAt  = regexp.MustCompile(`/M[\s\x00]*\((D:\d{14}[^)]{0,8})\)`)
)

// find returns the signatures of a file, those that cover less first, and the number of dictionaries that claim to be
// signatures but cover the wrong bytes.
func find(file io.ReaderAt, size int64) (all []found, malformed int, err error) {
	var broken []int64
	var failed error
	err = search(file, size, []byte("/ByteRange"), func(at int64) bool {
		var s found
		var ok bool
		if s, ok, failed = readDictionary(file, size, at); ok {
			all = append(all, s)
		} else if len(broken) < maxSeals {
			broken = append(broken, at)
		}
		return failed == nil && len(all) < maxSeals
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, 0, err
	}
	if len(all) == 0 { // a file with a sound seal is judged by that alone
		for _, at := range broken {
			saysSeal, err := isSealObject(file, size, at)
			if err != nil {
				return nil, 0, err
			}
			if saysSeal && !ofEmbedded(file, size, at) {
				malformed++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.end, b.end) })
	return all, malformed, nil
}

// Claimed reports whether a file contains anything that claims to be a seal, without verifying it.
func Claimed(file io.ReaderAt, size int64) (claimed bool, err error) {
	err = search(file, size, []byte("/ByteRange"), func(at int64) bool {
		text, err := window(file, size, at, at+256, nil)
		claimed = err == nil && byteRange.Match(text)
		return !claimed && err == nil
	})
	return claimed, err
}

// isSealObject reports whether the object around a position claims to be a signature.
func isSealObject(file io.ReaderAt, size, at int64) (bool, error) {
	text, err := window(file, size, at-nearby, at+nearby, nil)
	middle := int(at - max(at-nearby, 0))
	from := bytes.LastIndex(text[:middle], []byte(" obj"))
	to := bytes.Index(text[middle:], []byte("endobj"))
	if from < 0 {
		from = 0
	}
	if to < 0 {
		to = len(text) - middle
	}
	return err == nil && bytes.Contains(text[from:middle+to], []byte("/SubFilter")), err
}

// search calls hit with each position of word, until it returns false.
func search(file io.ReaderAt, size int64, word []byte, hit func(at int64) bool) error {
	const piece = 1 << 20
	buffer := make([]byte, piece+len(word)-1)
	for start := int64(0); start < size; start += piece {
		part, err := window(file, size, start, start+int64(len(buffer)), buffer)
		if err != nil {
			return err
		}
		for from := 0; ; {
			i := bytes.Index(part[from:], word)
			if i < 0 {
				break
			}
			if !hit(start + int64(from+i)) {
				return nil
			}
			from += i + len(word)
		}
	}
	return nil
}

// window reads the bytes from start to end, using buffer if it is large enough.
func window(file io.ReaderAt, size, start, end int64, buffer []byte) ([]byte, error) {
	start, end = max(start, 0), min(end, size)
	if start >= end {
		return nil, nil
	}
	if int64(cap(buffer)) < end-start {
		buffer = make([]byte, end-start)
	}
	part := buffer[:end-start]
	if _, err := file.ReadAt(part, start); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return part, nil
}

// ranges reads the byte range at a position, relative to base: the covered bytes begin at base and leave out one gap.
func ranges(file io.ReaderAt, size, at, base int64) (gapStart, gapEnd, end int64, ok bool) {
	text, err := window(file, size, at, at+256, nil)
	m := byteRange.FindSubmatch(text)
	if err != nil || m == nil {
		return 0, 0, 0, false
	}
	var n [4]int64
	for i := range n {
		n[i], _ = strconv.ParseInt(string(m[i+1]), 10, 64) // at most 18 digits
	}
	gapStart, gapEnd, end = base+n[1], base+n[2], base+n[2]+n[3]
	return gapStart, gapEnd, end, n[0] == 0 && n[1] > 0 && gapStart < gapEnd && gapEnd <= end && end <= size && gapEnd-gapStart <= maxSignature
}

// readDictionary reads the dictionary that contains the byte range at a position. ok is true if the range leaves out exactly
// that dictionary's signature.
func readDictionary(file io.ReaderAt, size, at int64) (s found, ok bool, err error) {
	if s.gapStart, s.gapEnd, s.end, ok = ranges(file, size, at, 0); !ok {
		return s, false, nil
	}
	// The gap is the value of /Contents in the dictionary with the range.
	first, last := min(at, s.gapStart), max(at, s.gapEnd)
	if first < s.gapEnd && at > s.gapStart && at < s.gapEnd {
		return s, false, nil
	}
	head, err := window(file, size, first-nearby, first, nil)
	if err != nil {
		return s, false, err
	}
	head = head[bytes.LastIndex(head, []byte("obj"))+1:]
	tail, err := window(file, size, last, last+nearby, nil)
	if err != nil {
		return s, false, err
	}
	if i := bytes.Index(tail, []byte("endobj")); i >= 0 {
		tail = tail[:i]
	}
	between := [2]int64{s.gapEnd, at}
	if at < s.gapStart {
		between = [2]int64{at, s.gapStart}
	}
	middle, err := window(file, size, between[0], min(between[1], between[0]+nearby), nil)
	if err != nil || between[1]-between[0] > nearby || bytes.Contains(middle, []byte("endobj")) {
		return s, false, err
	}
	before := head
	if at < s.gapStart {
		before = middle
	}
	if !bytes.HasSuffix(bytes.TrimRight(before, blank), []byte("/Contents")) {
		return s, false, nil
	}
	gap, err := window(file, size, s.gapStart, s.gapEnd, nil)
	if err != nil {
		return s, false, err
	}
	if s.signature, ok = unhex(gap); !ok {
		return s, false, nil
	}
	for _, part := range [][]byte{head, middle, tail} {
		if m := subFilter.FindSubmatch(part); m != nil {
			s.method = string(m[1])
		}
		if m := signedAt.FindSubmatch(part); m != nil {
			s.claimed = pdfDate(string(m[1]))
		}
	}
	return s, true, nil
}

// unhex decodes a string written as <hex>, and nothing else.
func unhex(text []byte) ([]byte, bool) {
	if len(text) < 2 || text[0] != '<' || text[len(text)-1] != '>' {
		return nil, false
	}
	digits := bytes.Join(bytes.FieldsFunc(text[1:len(text)-1], func(r rune) bool { return strings.ContainsRune(blank, r) }), nil)
	if len(digits)%2 == 1 {
		digits = append(digits, '0') // ISO 32000-1, 7.3.4.3
	}
	value := make([]byte, len(digits)/2)
	_, err := hex.Decode(value, digits)
	return value, err == nil
}

// pdfDate parses a date as D:YYYYMMDDHHmmSSOHH'mm'; zero for anything else.
func pdfDate(text string) time.Time {
	text = strings.ReplaceAll(text, "'", "")
	for _, layout := range []string{"D:20060102150405Z0700", "D:20060102150405Z0000", "D:20060102150405"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// ofEmbedded reports whether the range at a position belongs to an uncompressed document embedded in this one.
func ofEmbedded(file io.ReaderAt, size, at int64) bool {
	var starts []int64
	_ = search(file, at, []byte("%PDF-"), func(start int64) bool { // an unreadable one is no embedded document
		starts = append(starts, start)
		return len(starts) < maxSeals
	})
	for _, base := range starts {
		if base == 0 {
			continue
		}
		gapStart, gapEnd, _, ok := ranges(file, size, at, base)
		if !ok {
			continue
		}
		if gap, err := window(file, size, gapStart, gapEnd, nil); err == nil {
			if _, ok := unhex(gap); ok {
				return true
			}
		}
	}
	return false
}

// sum is the digest of the bytes that a signature covers.
func (s found) sum(file io.ReaderAt, h crypto.Hash) ([]byte, error) {
	hash := h.New()
	for _, part := range []*io.SectionReader{
		io.NewSectionReader(file, 0, s.gapStart), io.NewSectionReader(file, s.gapEnd, s.end-s.gapEnd),
	} {
		if _, err := io.Copy(hash, part); err != nil {
			return nil, fmt.Errorf("read the file: %w", err)
		}
	}
	return hash.Sum(nil), nil
}

// judge verifies a signature against the file. Its error only concerns reading the file.
func (s found) judge(file io.ReaderAt) (Signature, error) {
	of := Signature{Covers: s.end, IsStamp: s.method == stampMethod, Claimed: s.claimed}
	sum := func(h crypto.Hash) ([]byte, error) { return s.sum(file, h) }
	var wrong, broken error
	switch s.method {
	case stampMethod:
		var st stamp
		if st, wrong = readStamp(s.signature, sum); wrong == nil {
			of.Stamped, of.Certificates = st.at, raw(st.certificates)
		}
	case "adbe.x509.rsa_sha1", "adbe.pkcs7.sha1": // their digests are no longer safe
		wrong = FaultMethod
	default:
		wrong, broken = s.verify(&of, sum)
	}
	of.Fault = faultOf(wrong)
	return of, broken
}

// verify verifies a CMS signature and the time stamp that came with it.
func (s found) verify(of *Signature, sum func(crypto.Hash) ([]byte, error)) (wrong, broken error) {
	d, err := parseCMS(s.signature)
	if err != nil {
		return err, nil
	}
	digest, err := sum(d.digest) // of the file, whatever else the signature contains
	if err != nil {
		return nil, err
	}
	signer, wrong := d.verify(digest)
	if signer != nil {
		of.Certificates = raw(chainOf(signer, d.certificates))
	}
	if at := d.claimed(); of.Claimed.IsZero() {
		of.Claimed = at
	}
	var said revocationInfo
	if wrong == nil && d.attribute(oidRevocation, &said) {
		for _, word := range slices.Concat(said.CRLs, said.OCSPs) {
			of.revoked = append(of.revoked, word.FullBytes)
		}
	}
	var token asn1.RawValue
	if wrong == nil && onlyAttribute(d.Unsigned.Bytes, oidTimeStamp, &token) {
		st, err := readStamp(token.FullBytes, func(h crypto.Hash) ([]byte, error) {
			hash := h.New()
			hash.Write(d.Signature)
			return hash.Sum(nil), nil
		})
		if err == nil { // an unreadable stamp proves no time
			of.Stamped, of.Authority = st.at, raw(st.certificates)
		}
	}
	return wrong, nil
}

func raw(certificates []*x509.Certificate) (der [][]byte) {
	for _, c := range certificates {
		der = append(der, c.Raw)
	}
	return der
}
