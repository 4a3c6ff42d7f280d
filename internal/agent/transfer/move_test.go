package transfer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/safe"
	"countersign/internal/store"
	"countersign/internal/trytest"

	"github.com/google/uuid"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	safe.Work = 1
	goleak.VerifyTestMain(m)
}

// FuzzRecords reads files that are sealed as they should be and hold anything.
func FuzzRecords(f *testing.F) {
	f.Add("package", []byte(`{"id":"a","draft_id":"../x"}`), true)
	f.Add("draft", []byte(`{"id":"6f1e3a52-8c11-4d2a-9a55-0d6c9f3e7b10","state":"queued","files":[{"copy":"../../id","path":"/etc/passwd"}]}`), true)
	f.Add("folder", []byte(`{"path":"/x","signers":[{"email":"a@b.example"}]}`), true)
	f.Add("bytes", []byte(`{"name":"../x","size":3}`), false)
	f.Add("job", []byte(`{"package_id":"a","folder":"/autostart","target":"x.desktop"}`), false)
	settings := must(json.Marshal(theOffice().Settings))
	f.Fuzz(func(t *testing.T, kind string, value []byte, end bool) {
		var file bytes.Buffer
		w, err := Write(&file, safe.Secret{1}, Header{Kind: Move})
		noErr(t, err)
		noErr(t, w.Put(store.Record{Kind: kindSettings, JSON: settings}))
		if w.write(store.Record{Kind: store.Kind(kind), JSON: value}) != nil {
			return // no JSON
		}
		if end {
			noErr(t, w.Close())
		}
		o := Office{}
		m := &moving{Office: &o, now: time.Now(), needed: map[string]Document{}, ids: map[string]bool{}, here: map[string]string{}}
		_, _, err = Read(&file, safe.Secret{1}, Move, Reading{Record: m.record})
		if err == nil {
			err = m.finish()
		}
		if err != nil {
			return
		}
		if !end || len(o.Settings.CopyTo)+len(o.Settings.BlindCopyTo) > 0 || o.Settings.NgrokCA != "" || o.Settings.BesideOriginal {
			t.Errorf("believed %+v", o.Settings)
		}
		for _, d := range o.Drafts {
			for _, f := range d.Files {
				t.Errorf("a file whose bytes are not in the file: %+v", f)
			}
		}
		for _, d := range o.Folders {
			if !d.Paused {
				t.Errorf("a folder sends: %+v", d)
			}
		}
		for _, p := range o.Packages {
			if p.Withdrawal.Pending() || p.Planned && !p.Saved || p.State == office.PackageState("x") && p.ID == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}

// sealed is a file of a move with these lines, whoever wrote them.
func sealed(t *testing.T, lines ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	out, err := safe.Seal(&file, safe.Secret{1})
	noErr(t, err)
	packed := gzip.NewWriter(out)
	_, err = io.WriteString(packed, strings.Join(lines, "\n")+"\n")
	noErr(t, errors.Join(err, packed.Close(), out.Close()))
	return file.Bytes()
}

func TestAFileThatIsNotAsWeWriteItIsRefused(t *testing.T) {
	const head, end = `{"kind":"header","json":{"version":1,"kind":"move"}}`, `{"kind":"end","json":1}`
	const document = `{"kind":"bytes","json":{"name":"a-1","size":2,"sha256":"fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603"}}` // of "ab"
	long := strings.Repeat("x", 300_000)
	with := func(json string) []string {
		return []string{head, `{"kind":"bytes","json":` + json + `}`, `{"kind":"end","json":2}`}
	}
	for name, c := range map[string]struct {
		lines []string
		want  error
	}{
		"whole":                    {[]string{head, end}, nil},
		"with a document":          {[]string{head, document, "ab" + `{"kind":"end","json":2}`}, nil},
		"nothing":                  {nil, ErrDamaged},
		"no header":                {[]string{end}, ErrDamaged},
		"of a newer version":       {[]string{`{"kind":"header","json":{"version":2,"kind":"move"}}`, end}, ErrNewer},
		"of no version":            {[]string{`{"kind":"header","json":{"version":0,"kind":"move"}}`, end}, ErrDamaged},
		"a header that is none":    {[]string{`{"kind":"header","json":[]}`, end}, ErrDamaged},
		"of another kind":          {[]string{`{"kind":"header","json":{"version":1,"kind":"backup"}}`, end}, safe.ErrForeign},
		"no end":                   {[]string{head}, ErrDamaged},
		"one record fewer":         {[]string{head, `{"kind":"end","json":2}`}, ErrDamaged},
		"an end that counts not":   {[]string{head, `{"kind":"end","json":"1"}`}, ErrDamaged},
		"something follows":        {[]string{head, end, "x"}, ErrDamaged},
		"no JSON":                  {[]string{head, "{", `{"kind":"end","json":2}`}, ErrDamaged},
		"a record of no kind":      {[]string{head, `{"kind":"job","json":{}}`, `{"kind":"end","json":2}`}, ErrDamaged},
		"one record twice":         {[]string{head, `{"kind":"account","json":{}}`, `{"kind":"account","json":{}}`, `{"kind":"end","json":3}`}, ErrDamaged},
		"a long record":            {[]string{head, `{"kind":"account","json":{"email":"` + strings.Repeat("x", maxRecord) + `"}}`, `{"kind":"end","json":2}`}, ErrDamaged},
		"other bytes":              {[]string{head, document, "ba" + `{"kind":"end","json":2}`}, ErrDamaged},
		"a long document":          {[]string{head, fmt.Sprintf(`{"kind":"bytes","json":{"name":"a-1","size":%d,"sha256":%q}}`, len(long), sum([]byte(long))), long + `{"kind":"end","json":2}`}, nil},
		"another long one":         {[]string{head, fmt.Sprintf(`{"kind":"bytes","json":{"name":"a-1","size":%d,"sha256":%q}}`, len(long), sum([]byte(long))), "X" + long[1:] + `{"kind":"end","json":2}`}, ErrDamaged},
		"fewer bytes":              {[]string{head, document}, ErrDamaged},
		"a document that is none":  {with(`[]`), ErrDamaged},
		"one that leads elsewhere": {with(`{"name":"../a","size":0}`), ErrDamaged},
		"one below nothing":        {with(`{"name":"a","size":-1}`), ErrDamaged},
		"a large one":              {with(fmt.Sprintf(`{"name":"a","size":%d}`, maxDocument+1)), ErrDamaged},
		"one that lies elsewhere":  {with(`{"name":"a","size":0,"apart":true}`), ErrDamaged},
	} {
		_, _, err := Read(bytes.NewReader(sealed(t, c.lines...)), safe.Secret{1}, Move, Reading{Record: func(store.Record) error { return nil }})
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	mine := errors.New("mine")
	for name, to := range map[string]Reading{"a record": {Record: func(store.Record) error { return mine }},
		"a document": {Record: func(store.Record) error { return nil }, Document: func(Document, io.Reader) error { return mine }}} {
		file := sealed(t, head, `{"kind":"account","json":{}}`, document, "ab"+`{"kind":"end","json":3}`)
		if _, _, err := Read(bytes.NewReader(file), safe.Secret{1}, Move, to); !errors.Is(err, mine) {
			t.Errorf("%s is not wanted: %v", name, err)
		}
	}
	var plain bytes.Buffer
	out, err := safe.Seal(&plain, safe.Secret{1})
	noErr(t, err)
	_, err = io.WriteString(out, "no gzip, but long enough for its header")
	noErr(t, errors.Join(err, out.Close()))
	if _, _, err := Read(&plain, safe.Secret{1}, Move, Reading{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("what is not packed: %v", err)
	}
	broken := iotest.DataErrReader(io.MultiReader(bytes.NewReader(sealed(t, head, end)[:40]), iotest.ErrReader(mine)))
	if _, _, err := Read(broken, safe.Secret{1}, Move, Reading{}); !errors.Is(err, mine) || errors.Is(err, ErrDamaged) {
		t.Errorf("a disk that cannot be read: %v", err)
	}
}

// What cannot be written is not left out.
func TestAMoveIsWrittenWholeOrNot(t *testing.T) {
	long := strings.Repeat("x", maxRecord)
	whole := func() Office {
		return Office{Settings: theOffice().Settings, Folders: []office.HotFolder{{ID: "f"}}, People: []office.Signer{{Email: "a"}},
			Presets: []office.FormPreset{{Name: "p"}}, Packages: []office.Package{{ID: "p"}}, Drafts: []office.Draft{{ID: "d"}}, Sent: []office.SentLines{{Who: "ab"}},
			Record: []store.Record{{Kind: store.KindLogged, JSON: []byte(`{}`)}}}
	}
	for name, spoil := range map[string]func(o *Office){
		"nothing": func(*Office) {}, "settings": func(o *Office) { o.Settings.SaveTo = long }, "secrets": func(o *Office) { o.Secrets.ClientSecret = long },
		"account": func(o *Office) { o.Account.Email = long }, "form": func(o *Office) { o.Form.Name = long }, "folders": func(o *Office) { o.Folders[0].Path = long },
		"people": func(o *Office) { o.People[0].Email = long }, "presets": func(o *Office) { o.Presets[0].Name = long },
		"packages": func(o *Office) { o.Packages[0].Name = long }, "drafts": func(o *Office) { o.Drafts[0].Name = long },
		"lines that were sent": func(o *Office) { o.Sent[0].Who = long },
		"files that were sent": func(o *Office) { o.Seen = []office.SeenFile{{SHA256: "ab", Name: long}} },
		"the record":           func(o *Office) { o.Record[0].JSON = []byte(`"` + long + `"`) }, "no JSON": func(o *Office) { o.Record[0].JSON = []byte(`{`) },
		"a document": func(o *Office) { o.Drafts[0].Files = []office.DraftFile{{Copy: "c", SHA256: "s"}} },
	} {
		o := whole()
		spoil(&o)
		folder := func(office.DraftFile) string { return t.TempDir() }
		if err := WriteMove(io.Discard, safe.Secret{1}, o, folder); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := errors.New("full")
	for n := 0; ; n++ {
		disk := &fullDisk{n, full}
		err := WriteMove(disk, safe.Secret{1}, whole(), nil)
		if disk.left >= 0 {
			noErr(t, err)
			break
		}
		if !errors.Is(err, full) {
			t.Errorf("write %d failed, and it said %v", n, err)
		}
	}
}

// Once the office has left, it is too late to find out that nobody can read the file.
func TestWhatWouldNotBeReadIsNotWritten(t *testing.T) {
	was := maxAll[Move]
	defer func() { maxAll[Move] = was }()
	watched := func(n int) []office.HotFolder { return slices.Repeat([]office.HotFolder{{ID: "f", Path: "/scans"}}, n) }
	for name, c := range map[string]struct {
		bytes int64
		o     Office
		want  error
	}{
		"hundreds of watched folders": {was.records, Office{Folders: watched(500)}, nil},
		"too many watched folders":    {was.records, Office{Folders: watched(kinds[Move][kindFolder] + 1)}, ErrTooMuch},
		"too many bytes":              {4 << 10, Office{Packages: slices.Repeat([]office.Package{{ID: "p"}}, 100)}, ErrTooMuch},
	} {
		maxAll[Move] = struct{ records, documents int64 }{c.bytes, was.documents}
		c.o.Settings = theOffice().Settings
		var file bytes.Buffer
		err := WriteMove(&file, safe.Password("correct horse battery"), c.o, nil)
		if err == nil {
			_, err = ReadMove(&file, "correct horse battery", time.Now(), "")
		}
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fullDisk takes so many writes.
type fullDisk struct {
	left int
	err  error
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, d.err
	}
	return len(p), nil
}

// A file decides how much of it is left out.
func TestWhatIsLeftOutIsSaidOnceAndWithinBounds(t *testing.T) {
	o := Office{Header: Header{Made: time.Now()}, Settings: theOffice().Settings}
	for n := range 300 {
		d := office.Draft{ID: uuid.NewString(), Name: fmt.Sprint(n / 2), State: office.DraftHeld, Files: []office.DraftFile{{}}}
		o.Drafts = append(o.Drafts, d)
	}
	var file bytes.Buffer
	noErr(t, WriteMove(&file, safe.Password("password 10"), o, nil))
	got := must(ReadMove(&file, "password 10", time.Now(), ""))
	if len(got.LeftOut) != mostLeftOut || got.LeftOut[0] == got.LeftOut[1] {
		t.Errorf("%d lines, %v first", len(got.LeftOut), got.LeftOut[:2])
	}
}

// What comes back signed goes to the folder that the document came from, which has another id on this computer.
func TestAPackageKnowsItsWatchedFolderOnTheNewComputer(t *testing.T) {
	o := Office{Header: Header{Made: time.Now()}, Settings: theOffice().Settings}
	o.Folders = []office.HotFolder{{ID: "f1", Path: "/srv/send", Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}}}}
	o.Packages = []office.Package{{ID: "by-id", Home: office.Home{Service: "s"}, Source: office.Source{Folder: "f1"}},
		{ID: "by-tag", Home: office.Home{Service: "s"}, Source: office.Source{Folder: office.TagAt("s", "f1")}}, {ID: "of-none",
			Source: office.Source{Folder: "f2"}}}
	var file bytes.Buffer
	noErr(t, WriteMove(&file, safe.Password("password 10"), o, nil))
	got := must(ReadMove(&file, "password 10", time.Now(), ""))
	if len(got.Folders) != 1 || len(got.Packages) != 3 {
		t.Fatalf("%+v, left out %v", got, got.LeftOut)
	}
	id := got.Folders[0].ID
	if id == "f1" || got.Packages[0].Folder != id || got.Packages[1].Folder != id || got.Packages[2].Folder != "" {
		t.Errorf("the folder is %s, the packages are %+v", id, got.Packages)
	}
}

// A draft whose document is missing stays behind alone, and one that replaces others still does.
func TestDraftsMoveAsFarAsTheyAreThere(t *testing.T) {
	a, b, c := uuid.NewString(), uuid.NewString(), uuid.NewString()
	o := Office{Header: Header{Made: time.Now()}, Settings: theOffice().Settings}
	o.Drafts = []office.Draft{{ID: a, State: office.DraftFailed}, {ID: b, State: office.DraftHeld, Delivery: office.Delivery{Replaces: []string{c, a}}},
		{ID: c, Name: "Lost", State: office.DraftHeld, Files: []office.DraftFile{{Copy: "c", Size: 1, SHA256: "ab"}}}}
	var file bytes.Buffer
	noErr(t, WriteMove(&file, safe.Password("password 10"), o, func(office.DraftFile) string { return filepath.Join(t.TempDir(), "none") }))
	got := must(ReadMove(&file, "password 10", time.Now(), ""))
	if len(got.Drafts) != 2 || !slices.Equal(got.Drafts[1].Replaces, []string{a}) || !slices.Contains(got.LeftOut, message.DraftLeftOut("Lost")) {
		t.Errorf("%+v, left out %v", got.Drafts, got.LeftOut)
	}
}

// A file may have been written by anybody who knows its password.
func TestOnlyWhatCanDoNoHarmIsBelieved(t *testing.T) {
	content, now := []byte("%PDF-1.7 lease"), time.Now().Round(time.Second)
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	from, to := t.TempDir(), t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(from, "lease"), content, 0o600))
	ana := office.Signer{ID: "s1", FirstName: "Ana", Email: "ana@example.com", Role: "Tenant", RoleID: "r"}
	open, blind := office.Recipient{FirstName: "Zoë", Email: "zoe@example.com"}, office.Recipient{FirstName: "Eve", Email: "eve@evil.example", Blind: true}
	file := func(name string) office.DraftFile {
		return office.DraftFile{Path: "/etc/passwd", Name: name, Copy: "there", Size: int64(len(content)), SHA256: sum, FileID: "uploaded", Original: 1}
	}
	draft := func(state office.DraftState, files ...office.DraftFile) office.Draft {
		return office.Draft{ID: uuid.NewString(), Name: "Draft " + string(state), State: state, Signers: []office.Signer{ana}, Recipients: []office.Recipient{open, blind}, By: "somebody",
			Corrects: "p", CopyDefaults: office.CopyDefaults{NoCopy: []string{"zoe@example.com"}}, Created: now, Template: &office.Template{ID: "t", Documents: []office.TemplateDocument{{ID: "d", File: "/etc/passwd"}}}, Files: files, Folder: "f1"}
	}
	o := Office{Header: Header{Made: now}, Settings: theOffice().Settings, Account: Account{Email: "ana@example.com", Since: now.Add(time.Hour)}}
	o.Settings.SaveTo, o.Settings.NgrokCA, o.Settings.CopyTo, o.Settings.BesideOriginal = "/there", "/evil/ca.pem", []string{"eve@evil.example"}, true
	o.Settings.Language, o.Settings.Index, o.Settings.DueDays, o.Settings.Theme = "de", true, 9, "dark"
	o.People = []office.Signer{ana, {FirstName: "Nobody", Email: "nobody"}}
	o.Form = office.Form{Name: "Form", Signers: []office.Signer{ana}, Recipients: []office.Recipient{open, blind}}
	o.Presets = []office.FormPreset{{Name: "Preset\n2", Form: o.Form}}
	o.Folders = []office.HotFolder{{ID: "f1", Path: "/srv/send", By: "somebody", Signers: []office.Signer{ana}}, {ID: "f2", Path: `\\evil\share`, Signers: []office.Signer{ana}},
		{ID: "f3", Path: "nowhere"}}
	o.Packages = []office.Package{{ID: "p", Name: "Lease", Saving: office.Saving{Planned: true, Problem: message.NoSigner()},
		Withdrawal: &office.Withdrawal{State: office.WithdrawAsked}}, {ID: "q", Saving: office.Saving{Planned: true, Saved: true}}}
	bare, odd := file("bare.pdf"), file("../../odd.pdf")
	bare.SHA256 = ""
	o.Drafts = []office.Draft{draft(office.DraftQueued, odd, file("Lease.pdf")), draft(office.DraftFailed, bare), draft(office.DraftCancelled)}
	write := func(key safe.Key, o Office) *bytes.Buffer {
		var b bytes.Buffer
		noErr(t, WriteMove(&b, key, o, func(office.DraftFile) string { return filepath.Join(from, "lease") }))
		return &b
	}
	got := must(ReadMove(write(safe.Password("password 10"), o), "password 10", now, to))
	s := got.Settings
	if s.NgrokCA != "" || len(s.CopyTo) > 0 || s.BesideOriginal || s.SaveTo != "/there" || s.Language != "de" || !s.Index || s.DueDays != 9 || s.Theme != "dark" {
		t.Errorf("settings %+v", s)
	}
	if !got.Account.Since.Equal(now) || len(got.People) != 1 || got.People[0] != (office.Signer{FirstName: "Ana", Email: "ana@example.com"}) {
		t.Errorf("account %+v, people %+v", got.Account, got.People)
	}
	if len(got.Form.Recipients) != 1 || got.Form.Recipients[0].Blind || len(got.Presets) != 1 || got.Presets[0].Name != "Preset 2" || got.Presets[0].Form.Signers[0].ID != "" {
		t.Errorf("form %+v, presets %+v", got.Form, got.Presets)
	}
	if len(got.Folders) != 1 || !got.Folders[0].Paused || got.Folders[0].By != "" {
		t.Errorf("folders %+v", got.Folders)
	}
	if p := got.Packages; len(p) != 2 || p[0].Planned || p[0].Withdrawal != nil || !p[0].Problem.IsZero() || !p[1].Planned {
		t.Errorf("packages %+v", p)
	}
	if len(got.Drafts) != 1 {
		t.Fatalf("drafts %+v", got.Drafts)
	}
	d := got.Drafts[0]
	if d.By != "" || d.Corrects != "p" || len(d.NoCopy) != 1 || d.Folder != got.Folders[0].ID || len(d.Recipients) != 1 || d.Signers[0].ID != "" || d.Signers[0].RoleID != "r" || d.Template.Documents[0].File != "" || len(d.Files) != 2 {
		t.Errorf("draft %+v", d)
	}
	for i, f := range d.Files {
		b, err := os.ReadFile(filepath.Join(to, copyName(d, i)))
		if f.Path+f.FileID != "" || strings.Contains(f.Name, "/") || f.Copy != copyName(d, i) || string(b) != string(content) {
			t.Errorf("file %+v, %q, %v", f, b, err)
		}
	}
	trytest.Expect(t, len(got.LeftOut), 8, "%d lines of what is left out: "+fmt.Sprint(got.LeftOut))
	for name, other := range map[string]string{"other bytes": "%PDF-1.7 deed.", "fewer": "%PDF", "more": string(content) + "x"} {
		noErr(t, os.WriteFile(filepath.Join(from, "other"), []byte(other), 0o600))
		var b bytes.Buffer
		noErr(t, WriteMove(&b, safe.Secret{1}, o, func(office.DraftFile) string { return filepath.Join(from, "other") }))
		_, _, err := Read(&b, safe.Secret{1}, Move, Reading{Record: func(store.Record) error { return nil }, Document: func(Document, io.Reader) error {
			return fmt.Errorf("%s of a document go in its place", name)
		}})
		noErr(t, err)
	}
	for name, bad := range map[string]func(o *Office){
		"a package without an id":     func(o *Office) { o.Packages = []office.Package{{}} },
		"two of one id":               func(o *Office) { o.Packages = []office.Package{{ID: "p"}, {ID: "p"}} },
		"a draft's id that leads out": func(o *Office) { o.Packages = []office.Package{{ID: "p", Source: office.Source{DraftID: "../x"}}} },
		"lines for nobody":            func(o *Office) { o.Sent = []office.SentLines{{}} },
		"lines for no Who":            func(o *Office) { o.Sent = []office.SentLines{{Who: "../x"}} },
		"a draft's own":               func(o *Office) { o.Drafts = []office.Draft{{ID: "../x"}} },
		"two drafts of one id":        func(o *Office) { o.Drafts = append(o.Drafts, o.Drafts[0]) },
		"settings that cannot be":     func(o *Office) { o.Settings.BaseURL = "ftp://x" },
	} {
		changed := o
		changed.Drafts = slices.Clone(o.Drafts)
		bad(&changed)
		m := &moving{Office: &Office{}, needed: map[string]Document{}, ids: map[string]bool{}, here: map[string]string{}}
		_, _, err := Read(write(safe.Secret{1}, changed), safe.Secret{1}, Move, Reading{Record: m.record, Document: func(Document, io.Reader) error { return nil }})
		if err = errors.Join(err, m.finish()); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func theOffice() Shared {
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.example.com", "https://sign.example.com/api/v1", "office"
	s.Tunnel, s.Redirect = office.TunnelNone, office.RedirectLocalhost
	s.SaveTo, s.NgrokCA, s.Theme = "/home/admin/Signed", "/home/admin/ca.pem", "dark"
	return Shared{Settings: s}
}

func TestAnOfficeFileCarriesTheOfficeAndNotTheComputer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Office.countersign")
	o := theOffice()
	noErr(t, WriteShared(path, o))
	got, err := ReadShared(path)
	if err != nil || got.ClientSecret != "" {
		t.Fatal(got, err)
	}
	own := office.DefaultSettings()
	own.SaveTo, own.Language = "/home/ana/Signed", "de"
	s := got.Into(own)
	if s.AuthURL != o.Settings.AuthURL || s.ClientID != "office" || s.Tunnel != office.TunnelNone || s.Redirect != office.RedirectLocalhost {
		t.Errorf("got %+v", s)
	}
	if s.SaveTo != own.SaveTo || s.NgrokCA != "" || s.Theme != "" || s.Language != "de" {
		t.Errorf("the file chose what is this computer's: %+v", s)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %v", info.Mode())
	}
	if err := WriteShared(path, o); err == nil || !strings.Contains(said(err).String(), "already") {
		t.Errorf("written over a file: %v", err)
	}
	o.ClientSecret = "s3cret"
	path += office.OwnEnding
	noErr(t, WriteShared(path, o))
	if got, err := ReadShared(path); err != nil || got.ClientSecret != "s3cret" {
		t.Errorf("got %q, %v", got.ClientSecret, err)
	}
	o.Settings.AuthURL = "http://sign.example.com"
	var config *office.ConfigError
	if err := WriteShared(path+office.OwnEnding, o); !errors.As(err, &config) {
		t.Errorf("wrote what nobody can use: %v", err)
	}
}

func TestWhatIsNoOfficeFileIsRefusedInASentence(t *testing.T) {
	good := `{"format":"countersign office","version":1,"settings":{"auth_url":"https://sign.example.com","base_url":"https://sign.example.com"}}`
	with := func(from, to string) string {
		t.Helper()
		if !strings.Contains(good, from) {
			t.Fatal(from)
		}
		return strings.Replace(good, from, to, 1)
	}
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, says string }{
		"good":             {good, ""},
		"with a mark":      {"\ufeff" + good, ""},
		"of the future":    {with(`"version":1`, `"version":1,"more":{"x":[1]}`), ""},
		"empty":            {"", "was not made by Countersign"},
		"a document":       {"%PDF-1.7", "was not made by Countersign"},
		"other JSON":       {`{"format":"recipe","version":1}`, "was not made by Countersign"},
		"no version":       {with(`"version":1`, `"version":0`), "was not made by Countersign"},
		"newer":            {with(`"version":1`, `"version":2`), "newer version"},
		"huge":             {with(`"version":1`, `"version":1,"x":"`+strings.Repeat("x", maxShared)+`"`), "was not made by Countersign"},
		"deep":             {strings.Repeat("[", maxShared), "was not made by Countersign"},
		"other types":      {with(`"https://sign.example.com"`, `7`), "was not made by Countersign"},
		"no address":       {with(`"auth_url":"https://sign.example.com",`, ``), "sign-in address"},
		"no https":         {with(`"https://sign.example.com"`, `"http://sign.example.com"`), "sign-in address"},
		"a password":       {with(`"https://sign.example.com"`, `"https://ana:s3cr3t@sign.example.com"`), "sign-in address"},
		"a program":        {with(`"https://sign.example.com"`, `"file:///bin/sh"`), "sign-in address"},
		"the demo's":       {with(`"settings":{`, `"settings":{"tunnel":"loopback",`), "public address"},
		"a way out":        {with(`"settings":{`, `"settings":{"name_template":"../{document}",`), "cannot be used"},
		"a folder":         {with(`"settings":{`, `"settings":{"save_to":"/etc","ngrok_ca":"/etc/passwd","ngrok_connect_url":"x:1",`), ""},
		"a header of sort": {with(`"settings":{`, `"settings":{"signature_header":"X: y",`), "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "x.countersign")
			noErr(t, os.WriteFile(path, []byte(c.text), 0o600))
			o, err := ReadShared(path)
			text := said(err).String()
			if (c.says == "") != (err == nil) || !strings.Contains(text, c.says) || strings.Contains(text, "s3cr3t") {
				t.Errorf("said %q", text)
			}
			if s := o.Into(office.Settings{SaveSettings: office.SaveSettings{SaveTo: "/home/ana"}}); err == nil && (s.SaveTo != "/home/ana" || s.NgrokCA != "" || s.NgrokConnectURL != "") {
				t.Errorf("the file chose what is this computer's: %+v", s)
			}
		})
	}
	for _, path := range []string{dir, filepath.Join(dir, "none.countersign"), os.DevNull} {
		if _, err := ReadShared(path); err == nil || !strings.Contains(said(err).String(), "could not be read") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
