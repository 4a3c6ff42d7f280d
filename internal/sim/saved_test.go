package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// savedFiles checks that completely signed documents are saved once, complete, under an unused name, and stay. It does not
// check what people did: took away, moved, wrote themselves, or created anew while a drive was away; and what an earlier
// computer saved.
type savedFiles struct {
	m *model

	files     map[string]saved     // path -> its document
	paths     []string             // files at the last check ...
	listings  map[string]listing   // listings of the folders then ...
	next      int                  // next of them to check again ...
	edits     int                  // number of changes by people ...
	editsSeen int                  // ... and until the last check
	own       map[string][]byte    // path -> a file of somebody's own
	places    map[string]int       // document -> how many files of it may exist; absent means 1
	given     map[string]string    // hash -> document that a service serves
	listed    map[string]bool      // files of the services already read
	brought   map[string]bool      // documents that a returning drive added to a recreated folder
	gone      map[string]bool      // documents taken away by people
	first     map[string]int       // which computer first saved a document ...
	since     map[string]time.Time // ... and when
	out       map[string]bool      // where the files of temporarily missing folders are
}

func newSavedFiles(m *model) savedFiles {
	return savedFiles{
		m: m, files: map[string]saved{}, listings: map[string]listing{}, own: map[string][]byte{}, places: map[string]int{}, given: map[string]string{},
		listed: map[string]bool{}, brought: map[string]bool{}, gone: map[string]bool{}, first: map[string]int{}, since: map[string]time.Time{}, out: map[string]bool{},
	}
}

// saved is a document in a folder.
type saved struct {
	size     int64
	modified time.Time
	document string
}

// away records that people took a document out of the folder; quiet if the program was finished with it.
func (x *savedFiles) away(document string, quiet bool) {
	x.gone[document] = true
	if quiet {
		x.places[document] = 0
	}
}

// again records that people want the files of a package saved again: beside one that was changed or renamed, there may be another.
func (x *savedFiles) again(name string) {
	x.m.mu.Lock()
	e := x.m.executed[name]
	x.m.mu.Unlock()
	for _, document := range append(slices.Concat(e.documents, e.certificates), e.master) {
		delete(x.gone, document)
		x.places[document] = 1
		for _, f := range x.files {
			if f.document == document {
				x.places[document]++
			}
		}
	}
}

// unplugged records that the drive with a folder is away, and that its files are at aside meanwhile: people may have the
// folder created anew, with other files of the same names.
func (x *savedFiles) unplugged(folder, aside string) {
	x.out[aside] = true
	x.carried(folder, aside)
}

// plugged records that the drive is back.
func (x *savedFiles) plugged(folder, aside string) {
	delete(x.out, aside)
	x.carried(aside, folder)
}

// carried records that people moved all files of a folder to another one.
func (x *savedFiles) carried(from, to string) {
	for path, f := range x.files {
		if filepath.Dir(path) == from {
			x.unfiled(path)
			x.filed(filepath.Join(to, filepath.Base(path)), f)
		}
	}
}

// looksAgain is how many known files are checked again each time. At a rest, all are.
const looksAgain = 40

// lookAtFolders: a file under its final name is complete, is a signed document, is the only one of it, and stays. New and
// missing files are noticed immediately, changed ones within the next checks: a year has thousands of files.
func (x *savedFiles) lookAtFolders() { x.look(looksAgain) }

func (x *savedFiles) look(again int) {
	var paths []string
	for _, folder := range x.m.w.folders() {
		paths = append(paths, x.documentsIn(folder)...)
	}
	for range min(again, len(paths)) {
		x.next = (x.next + 1) % len(paths)
		x.lookAtFile(paths[x.next])
	}
	if slices.Equal(paths, x.paths) && x.edits == x.editsSeen {
		return
	}
	x.paths, x.editsSeen = paths, x.edits
	there := make(map[string]bool, len(paths))
	for _, path := range paths {
		there[path] = true
		if _, known := x.files[path]; !known {
			x.lookAtFile(path)
		}
	}
	for path, f := range x.files {
		if !there[path] && !x.out[filepath.Dir(path)] {
			x.m.breaks("a saved document stays: %s is gone, which was %s", path, f.document)
			delete(x.files, path)
		}
	}
}

// listing is the contents of a folder at one moment.
type listing struct {
	size    int64
	changed time.Time
	paths   []string
}

// documentsIn are the paths of the files that people see in a folder, in arbitrary but stable order. The names are read
// again when the folder has changed. Since 6.13, Linux guarantees a new time stamp for the next change after a time stamp
// was read; before, a change within some milliseconds may be noticed only with the next change, or at rest.
func (x *savedFiles) documentsIn(folder string) []string {
	info, err := os.Stat(folder)
	if err != nil {
		return nil
	}
	was, known := x.listings[folder]
	if known && was.size == info.Size() && was.changed.Equal(info.ModTime()) {
		return was.paths
	}
	is := listing{size: info.Size(), changed: info.ModTime()}
	names, _ := namesIn(folder)
	for _, name := range names {
		if !strings.HasPrefix(name, ".") && filepath.Ext(name) != ".csv" { // skips the index
			is.paths = append(is.paths, folder+string(filepath.Separator)+name)
		}
	}
	x.listings[folder] = is
	return is.paths
}

// namesIn are the names in a folder, in arbitrary but stable order.
func namesIn(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// lookAtFile checks a file if it is new or looks different.
func (x *savedFiles) lookAtFile(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	was, known := x.files[path]
	if !known || was.size != info.Size() || !was.modified.Equal(info.ModTime()) {
		x.meet(path, info, was, known)
	}
}

// filed records that people put a document at path.
func (x *savedFiles) filed(path string, f saved) {
	x.files[path] = f
	x.edits++
}

// unfiled records that people removed it.
func (x *savedFiles) unfiled(path string) {
	delete(x.files, path)
	x.edits++
}

// meet checks a file that is new or looks different.
func (x *savedFiles) meet(path string, info os.FileInfo, was saved, known bool) {
	body, err := os.ReadFile(path)
	if err != nil {
		x.m.breaks("a saved document can be read: %v", err)
		return
	}
	if own, ok := x.own[path]; ok {
		if !bytes.Equal(body, own) {
			x.m.breaks("nothing is overwritten: %s was a file of people's own", path)
		}
		return
	}
	document := x.documentOf(body)
	switch {
	case document == "":
		x.m.breaks("a file under its final name is a whole document: %s has %d bytes that no service gave", path, len(body))
	case known && was.document != document:
		x.m.breaks("nothing is overwritten: %s was %s and is %s", path, was.document, document)
	}
	x.files[path] = saved{info.Size(), info.ModTime(), document}
	if _, known := x.first[document]; !known {
		x.first[document], x.since[document] = x.m.w.computer, x.m.w.now()
	}
	var copies []string
	for other, f := range x.files {
		if f.document == document {
			copies = append(copies, other)
		}
		if other != path && document != "" && !x.brought[document] && f.document == document && inSeries(other) == inSeries(path) {
			x.m.breaks("a document is found where it is: %s is %s and %s", document, other, path)
		}
	}
	slices.Sort(copies)
	if most := x.most(document); document != "" && len(copies) > most {
		x.m.breaks("a document is saved once: %s is in %q", document, copies)
	}
}

var aNumber = regexp.MustCompile(` \(\d+\)(\.[a-z]+)$`)

// inSeries is a path without the number that distinguishes it from others of the same name. Whoever saves a document checks
// whether it is among those.
func inSeries(path string) string { return aNumber.ReplaceAllString(path, "$1") }

// most is how many files of a document may exist. A new computer does not know what people removed from the folder before,
// nor which folders there were.
func (x *savedFiles) most(document string) int {
	n, ok := x.places[document]
	if !ok {
		n = 1
	}
	return n + x.m.w.computer - x.first[document]
}

// documentOf is the document with these bytes, "" if there is none.
func (x *savedFiles) documentOf(body []byte) string {
	if !bytes.HasPrefix(body, []byte("%PDF-")) {
		return ""
	}
	sum := sha256.Sum256(body)
	key := hex.EncodeToString(sum[:])
	if x.given[key] == "" {
		x.lookAtServices()
	}
	return x.given[key]
}

// lookAtServices reads what the services have to serve.
func (x *savedFiles) lookAtServices() {
	for _, s := range x.m.w.services {
		entries, err := os.ReadDir(filepath.Join(s.dir, "signed"))
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(s.dir, "signed", e.Name())
			if x.listed[path] || !strings.HasSuffix(e.Name(), ".pdf") {
				continue
			}
			body, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			sum := sha256.Sum256(body)
			x.listed[path] = true
			x.given[hex.EncodeToString(sum[:])] = strings.TrimSuffix(e.Name(), ".pdf")
		}
	}
}

// documents are those that are in a folder.
func (x *savedFiles) documents() map[string]bool {
	there := make(map[string]bool, len(x.files))
	for _, f := range x.files {
		there[f.document] = true
	}
	return there
}

// isSaved reports whether a document is in a folder, or was until people removed it.
func (x *savedFiles) isSaved(document string) bool {
	if x.gone[document] {
		return true
	}
	for _, f := range x.files {
		if f.document == document {
			return true
		}
	}
	return false
}

// hostileNames are possible names of documents made elsewhere: names that leave a folder, hide, deceive, or are invalid on
// some system.
var hostileNames = []string{
	"../../../../evil", "/etc/evil", `..\..\evil`, `C:\evil`, "a/b/c", "..", ".hidden", "~", "-rf", "%2e%2e%2fevil",
	"CON", "nul.pdf", "com1.pdf", "ends.", "ends ", " begins", `a:b|c?d*e<f>g"`, "line\nbreak", "tab\there", "bell\a", "\x7f",
	"gpj.\u202efdp", "\u200b", "\ufeff", "e\u0301", "\u00e9", "\U0001f4c4", strings.Repeat("ü", 200), strings.Repeat("a.", 100), "'; rm -rf ~; '",
}

// nameOfNext is the name of the stranger's next document: every other one is plain.
func (x *stranger) nameOfNext() string {
	r := keyed(x.w.seed, "elsewhere", x.sent)
	if r.IntN(2) == 0 {
		return "Elsewhere"
	}
	return oneOf(r, hostileNames...)
}

// lookAtPlace checks that a file is where people expect it, and that its name, which comes from outside, is valid on every
// system. path is below the disk.
func (x *savedFiles) lookAtPlace(path string) {
	parts := strings.Split(filepath.ToSlash(path), "/")
	place, _, _ := strings.Cut(parts[0], " ")
	switch {
	case !slices.Contains([]string{"folder", "unplugged", "archive", "data", "scans", "private"}, place):
		x.m.breaks("nothing leaves the folder: %q", path)
	case (place == "folder" || place == "unplugged") && len(parts) != 2:
		x.m.breaks("nothing leaves the folder: %q is below it", path)
	case place != "data" && !harmless(parts[len(parts)-1]):
		x.m.breaks("no name from outside does harm: %q", path)
	}
}

// harmless reports whether a name is valid on every system, and shows what it is.
func harmless(name string) bool {
	odd := func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || strings.ContainsRune(`/\:*?"<>|`, r)
	}
	stem, _, _ := strings.Cut(name, ".")
	device := slices.Contains([]string{"con", "prn", "aux", "nul", "com1", "lpt1"}, strings.ToLower(strings.TrimSpace(stem)))
	return utf8.ValidString(name) && len(name) <= 255 && !device && !strings.ContainsFunc(name, odd) && strings.TrimRight(name, ". ") == name
}

// index checks the lists of saved files that an office may keep in its folders: each file is listed once, within
// listedWithin if nothing disturbs the program, and nothing else is listed. It does not check files elsewhere, what an earlier
// computer saved, and what waits for its service.
type index struct {
	m      *model
	sizes  map[string]int64 // of the lists already read
	listed map[string]bool  // documents
}

const listedWithin = 30 * time.Minute

// lookAtIndexes reads what is new, and checks that nothing is missing.
func (x *index) lookAtIndexes() {
	lists, _ := filepath.Glob(filepath.Join(x.m.w.disk(), "folder *", "*.csv"))
	for _, path := range lists {
		if info, err := os.Stat(path); err == nil && info.Size() != x.sizes[path] {
			x.sizes[path] = info.Size()
			x.read(path)
		}
	}
	w := x.m.w
	calm, wanted := w.calmSince(), x.m.wishes.wants(wishIndex)
	if calm.IsZero() || wanted == never || time.Since(calm) < listedWithin {
		return
	}
	for path, f := range x.m.saved.files {
		if filepath.Dir(path) != w.settings.SaveTo || x.listed[f.document] || f.document == "" || x.m.saved.first[f.document] != w.computer {
			continue
		}
		if saved := x.m.saved.since[f.document]; saved.After(wanted) && w.now().Sub(saved) > listedWithin && !x.waits(f.document) {
			x.m.breaks("the index lists what is saved: %s, which is %s, is not in it after %v", filepath.Base(path), f.document, w.now().Sub(saved))
		}
	}
}

// waits reports whether a document is of the service that the office has left, and people see that its package waits: that it was
// saved could not be recorded, as on a full disk, and is found out only when that service is asked for it again.
func (x *index) waits(document string) bool {
	id, _, _ := strings.Cut(document, ".")
	for _, p := range x.m.w.services[1-x.m.w.current].Packages() {
		if p.PackageID == id || slices.ContainsFunc(p.Documents, func(d sandbox.Document) bool { return d.DocumentID == id }) {
			row, _, err := x.m.w.office.Package(p.PackageID)
			return err == nil && slices.ContainsFunc(row.Files, func(f office.File) bool { return f.State == office.JobPending })
		}
	}
	return false
}

func (x *index) read(path string) {
	body, err := os.ReadFile(path)
	if err != nil {
		return
	}
	lines, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff")))).ReadAll()
	if err != nil || len(lines) == 0 {
		x.m.breaks("the index can be read: %s has %d bytes, %d lines: %v", path, len(body), len(lines), err)
		return
	}
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		where, sum := line[len(line)-2], line[len(line)-1]
		document := x.m.saved.given[sum]
		if sum != "" && (document == "" || seen[where+sum]) {
			x.m.breaks("the index lists what is saved: %q is %q, listed before: %v", line, document, seen[where+sum])
		}
		if filepath.Dir(filepath.FromSlash(where)) == filepath.Dir(path) {
			x.m.breaks("the index lists what is saved: %q is beside it, and would be lost once the folder moves", where)
		}
		seen[where+sum] = true
		x.listed[document] = true
	}
}
