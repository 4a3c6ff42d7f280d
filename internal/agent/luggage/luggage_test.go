package luggage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// packed is a data file and a document, packed.
func packed(t testing.TB) (b []byte, m Manifest) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	state, document := write("state", "the state"), "%PDF of a lease"
	write("draft-1", document)
	sum := sha256.Sum256([]byte(document))
	m = Manifest{ID: "1", Installation: "old", Documents: []Document{{"draft-1", int64(len(document)), hex.EncodeToString(sum[:])}}}
	var out bytes.Buffer
	if err := Pack(&out, m, state, dir); err != nil {
		t.Fatal(err)
	}
	write("draft-1", "%PDF of a lEase")
	if err := Pack(io.Discard, m, state, dir); err == nil {
		t.Error("another document was packed in its place")
	}
	return out.Bytes(), m
}

func unpacked(t testing.TB, b []byte) (folder string, err error) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "to")
	p, err := Open(bytes.NewReader(b))
	if err == nil {
		err = p.Into(folder)
	}
	return folder, err
}

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	b, m := packed(t)
	folder, err := unpacked(t, b)
	if err != nil {
		t.Fatal(err)
	}
	state, err1 := os.ReadFile(State(folder))
	document, err2 := os.ReadFile(DocumentIn(folder, m.Documents[0].Name))
	if string(state) != "the state" || string(document) != "%PDF of a lease" || err1 != nil || err2 != nil {
		t.Errorf("%q, %q, %v, %v", state, document, err1, err2)
	}
	for i := range b {
		if i == 4 || i == 5 || i == 6 || i == 7 || i == 8 || i == 9 { // the time and the system in gzip's header mean nothing
			continue
		}
		if _, err := unpacked(t, b[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
}

// tarred packs what it is told.
func tarred(t testing.TB, m any, files ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	list, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range append([]tar.Header{{Name: manifestName, Size: int64(len(list))}}, files...) {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		text := bytes.Repeat([]byte("x"), int(h.Size))
		if i == 0 {
			text = list
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileLuggageChoosesNoNameAndNoSize(t *testing.T) {
	sum := sha256.Sum256([]byte("x"))
	x := hex.EncodeToString(sum[:])
	good := func() Manifest { return Manifest{Version: 1, ID: "1", Installation: "old", State: 1} }
	with := func(change func(*Manifest)) Manifest { m := good(); change(&m); return m }
	named := func(name string) Manifest {
		return with(func(m *Manifest) { m.Documents = []Document{{name, 1, x}} })
	}
	state := tar.Header{Name: stateName, Size: 1}
	document := func(name string) tar.Header { return tar.Header{Name: documentsDir + "/" + name, Size: 1} }
	for name, c := range map[string]struct {
		list  any
		files []tar.Header
		want  error
	}{
		"good":            {named("a-1"), []tar.Header{state, document("a-1")}, nil},
		"newer":           {with(func(m *Manifest) { m.Version = 2 }), []tar.Header{state}, ErrNewer},
		"no list":         {"text", []tar.Header{state}, ErrDamaged},
		"no id":           {with(func(m *Manifest) { m.ID = "" }), []tar.Header{state}, ErrDamaged},
		"out of it":       {named("../a"), []tar.Header{state, document("../a")}, ErrDamaged},
		"absolute":        {named("/etc/passwd"), []tar.Header{state, {Name: "/etc/passwd", Size: 1}}, ErrDamaged},
		"hidden":          {named(".a"), []tar.Header{state, document(".a")}, ErrDamaged},
		"a device":        {named("a:b"), []tar.Header{state, document("a:b")}, ErrDamaged},
		"another name":    {named("a-1"), []tar.Header{state, document("a-2")}, ErrDamaged},
		"a link":          {named("a-1"), []tar.Header{state, {Name: documentsDir + "/a-1", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}, ErrDamaged},
		"too much":        {good(), []tar.Header{state, document("a-1")}, ErrDamaged},
		"too little":      {named("a-1"), []tar.Header{state}, ErrDamaged},
		"another size":    {good(), []tar.Header{{Name: stateName, Size: 2}}, ErrDamaged},
		"another content": {with(func(m *Manifest) { m.Documents = []Document{{"a-1", 2, x}} }), []tar.Header{state, {Name: documentsDir + "/a-1", Size: 2}}, ErrDamaged},
		"twice":           {with(func(m *Manifest) { m.Documents = []Document{{"a", 1, x}, {"a", 1, x}} }), []tar.Header{state, document("a"), document("a")}, ErrDamaged},
		"huge state":      {with(func(m *Manifest) { m.State = 1 << 60 }), []tar.Header{state}, ErrDamaged},
		"huge document":   {with(func(m *Manifest) { m.Documents = []Document{{"a", 1 << 62, x}} }), []tar.Header{state}, ErrDamaged},
		"negative":        {with(func(m *Manifest) { m.Documents = []Document{{"a", -1, x}} }), []tar.Header{state}, ErrDamaged},
		"many":            {with(func(m *Manifest) { m.Documents = make([]Document, maxDocuments+1) }), []tar.Header{state}, ErrDamaged},
	} {
		if _, err := unpacked(t, tarred(t, c.list, c.files...)); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	b, _ := packed(f)
	f.Add(b)
	f.Add(tarred(f, Manifest{Version: 1, ID: "1", Installation: "old", State: 1}, tar.Header{Name: stateName, Size: 1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		outside := t.TempDir()
		before, _ := os.ReadDir(filepath.Dir(outside))
		p, err := Open(bytes.NewReader(b))
		if err != nil || p.Manifest.State > 1<<20 {
			return
		}
		_ = p.Into(filepath.Join(outside, "to"))
		if after, _ := os.ReadDir(filepath.Dir(outside)); len(after) != len(before) {
			t.Error("something was written outside")
		}
	})
}
