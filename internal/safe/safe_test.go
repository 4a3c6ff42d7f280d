package safe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// cheap is a password that costs no work.
type cheap string

func (c cheap) passphrase() (string, int) { return string(c), 1 }

func sealed(t testing.TB, plain []byte, key Key) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := Seal(&b, key)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(b []byte, with Key) ([]byte, error) {
	r, err := Open(bytes.NewReader(b), with)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestWhatWasSealedIsOpenedWithItsKeyAndNoOther(t *testing.T) {
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 300_000} {
		plain := make([]byte, size)
		for i := range plain {
			plain[i] = byte(rand.IntN(256))
		}
		for _, key := range []Key{cheap("correct horse"), Secret{1}} {
			file := sealed(t, plain, key)
			if got, err := opened(file, key); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes with %T: %d bytes, %v", size, key, len(got), err)
			}
			for _, other := range []Key{cheap("correct Horse"), Password(""), Secret{2}} {
				if got, err := opened(file, other); !errors.Is(err, ErrKey) || len(got) > 0 {
					t.Errorf("%d bytes with another %T: %d bytes, %v", size, other, len(got), err)
				}
			}
		}
	}
}

func TestNoByteOfASealedFileCanBeChangedOrLeftOut(t *testing.T) {
	plain := bytes.Repeat([]byte("a signed contract "), 5000) // more than one chunk
	file := sealed(t, plain, cheap("p"))
	body := bytes.Index(file, []byte("\n---"))
	var at []int
	for i := range body + 60 {
		at = append(at, i)
	}
	for range 200 {
		at = append(at, rand.IntN(len(file)))
	}
	for _, i := range at {
		changed := slices.Clone(file)
		changed[i] ^= 1
		if got, err := opened(changed, cheap("p")); err == nil {
			t.Fatalf("byte %d was changed, and %d bytes are read", i, len(got))
		}
		if got, err := opened(file[:i], cheap("p")); err == nil {
			t.Fatalf("it was cut to %d bytes, and %d bytes are read", i, len(got))
		}
	}
	if _, err := opened(append(slices.Clone(file), 'x'), cheap("p")); !errors.Is(err, ErrDamaged) {
		t.Errorf("with something behind it: %v", err)
	}
}

func TestEachFaultHasItsName(t *testing.T) {
	file := sealed(t, []byte("contract"), cheap("p"))
	header := func(from, to string) []byte { return bytes.Replace(file, []byte(from), []byte(to), 1) }
	worth := func(work int) []byte { return header(" 1\n", fmt.Sprintf(" %d\n", work)) } // the work that the header demands
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"empty":           {nil, ErrForeign},
		"a document":      {[]byte("%PDF-1.7\n%%EOF\n"), ErrForeign},
		"first line only": {file[:len(intro)], ErrDamaged},
		"another version": {header("/v1\n", "/v2\n"), ErrForeign},
		"cut in the end":  {file[:len(file)-1], ErrDamaged},
		"much work":       {worth(Work + 1), ErrDamaged},
		"no work":         {worth(0), ErrDamaged},
	} {
		if _, err := opened(c.file, Password("p")); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	broken := errors.New("the disk is gone")
	for _, at := range []int{0, 10, 40, len(file) - 3} {
		r, err := Open(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(broken)), Password("p"))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, broken) || errors.Is(err, ErrDamaged) {
			t.Errorf("read up to %d: %v", at, err)
		}
	}
}

// endless is a file that never ends.
type endless int

func (n *endless) Read(p []byte) (int, error) {
	*n += endless(len(p))
	return copy(p, bytes.Repeat([]byte("-> x "), len(p)/5+1)), nil
}

func TestAnEndlessHeaderIsNotReadOn(t *testing.T) {
	var read endless
	if _, err := Open(io.MultiReader(strings.NewReader(intro), &read), Password("p")); !errors.Is(err, ErrDamaged) || read > 2*maxHeader {
		t.Errorf("%d bytes were read: %v", read, err)
	}
}

func TestAHeaderAsksForTheWorkOfOnePassword(t *testing.T) {
	file := sealed(t, []byte("contract"), cheap("p"))
	line := bytes.Index(file, []byte("-> scrypt"))
	end := bytes.Index(file, []byte("\n---"))
	twice := slices.Concat(file[:end+1], file[line:end+1], file[end+1:])
	if _, err := opened(twice, cheap("p")); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

// OWASP's password storage cheat sheet: 2^17 is the minimum for scrypt.
func TestAPasswordCostsItsWork(t *testing.T) {
	file := sealed(t, []byte("contract"), Password("correct horse"))
	if !bytes.Contains(file, []byte(" 17\n")) {
		t.Errorf("%.120q", file)
	}
	if got, err := opened(file, Password("correct horse")); string(got) != "contract" || err != nil || !Is(bytes.NewReader(file)) || Is(strings.NewReader("contract, of which we speak at length")) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatFollowsFromAPasswordFollowsFromItAndItsPurposeAlone(t *testing.T) {
	a, b, err := Password("correct horse").Stretch("doors")
	again, _, err2 := Password("correct horse").Stretch("doors")
	other, _, err3 := Password("correct horse").Stretch("gates")
	if err := errors.Join(err, err2, err3); err != nil || a != again || a == b || a == other || a == (Secret{}) {
		t.Errorf("%v: %x, %x, %x, %x", err, a[:], b[:], again[:], other[:])
	}
}

func TestKeysDoNotShowThemselves(t *testing.T) {
	if text := fmt.Sprintf("%v %s %x %#v %d", Secret{7}, Secret{7}, Secret{7}, Secret{7}, Secret{7}); strings.ContainsAny(text, "7") || !strings.Contains(text, "hidden") {
		t.Error(text)
	}
}

func FuzzOpen(f *testing.F) {
	file := sealed(f, []byte("contract"), Secret{1})
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add([]byte(intro + "-> scrypt AAAAAAAAAAAAAAAAAAAAAA 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := opened(b, Secret{1}); err == nil && string(got) != "contract" {
			t.Errorf("read %q", got)
		}
	})
}
