package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func box(t *testing.T, k Key) *Box {
	t.Helper()
	return must(NewBox(k))
}

func TestASealedValueOpensOnlyWithItsKeyItsNameAndAllItsBytes(t *testing.T) {
	k := newKey()
	b := box(t, k)
	plain := []byte("refresh-token-value")
	sealed := must(b.Seal("refresh-token", plain))
	if bytes.Contains(sealed, plain) {
		t.Fatal("the sealed value shows the plain one")
	}
	if got, err := box(t, k).Open("refresh-token", sealed); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("Open = %q, %v", got, err)
	}
	if _, err := box(t, newKey()).Open("refresh-token", sealed); !errors.Is(err, ErrWrongKey) {
		t.Errorf("with another key: %v, want ErrWrongKey", err)
	}
	if _, err := b.Open("client-secret", sealed); !errors.Is(err, ErrDamaged) {
		t.Errorf("under another name: %v, want ErrDamaged", err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if got, err := b.Open("refresh-token", changed); err == nil {
			t.Errorf("opened as %q with byte %d changed", got, i)
		}
		if got, err := b.Open("refresh-token", sealed[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %q, %v, want ErrDamaged", i, got, err)
		}
	}
}

func TestSealingTwiceDiffersAndEmptyIsNotNil(t *testing.T) {
	b := box(t, newKey())
	one, _ := b.Seal("n", nil)
	two, _ := b.Seal("n", nil)
	if bytes.Equal(one, two) {
		t.Error("two sealings of the same value are equal")
	}
	if got, err := b.Open("n", one); err != nil || got == nil || len(got) != 0 {
		t.Errorf("Open = %v, %v, want an empty value", got, err)
	}
}

func TestNoKeyNoBox(t *testing.T) {
	if _, err := NewBox(Key{}); !errors.Is(err, ErrNoKey) {
		t.Errorf("NewBox(Key{}) = %v, want ErrNoKey", err)
	}
	var none *Box
	if _, err := none.Seal("n", []byte("x")); !errors.Is(err, ErrNoKey) {
		t.Errorf("Seal = %v, want ErrNoKey", err)
	}
	if _, err := none.Open("n", []byte("x")); !errors.Is(err, ErrNoKey) {
		t.Errorf("Open = %v, want ErrNoKey", err)
	}
}

func TestAKeyShowsItselfNowhere(t *testing.T) {
	k := must(parseKey(strings.Repeat("4b", 32))) // "KKKK..."
	type holder struct {
		Key    Key
		P      *Key
		hidden Key // fmt does not call the methods of an unexported field
		inner  struct{ keys []Key }
	}
	h := holder{Key: k, P: &k, hidden: k}
	h.inner.keys = []Key{k}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%o", "%U", "%c", "%T", "%p"} {
		fmt.Fprintf(&out, verb+" "+verb+"\n", k, h)
	}
	js := must(json.Marshal(h))
	out.Write(js)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("key", "key", k, "pointer", &k, "holder", h)
	}
	for _, leak := range []string{"KKKK", "4b4b4b4b", "4B4B4B4B", "75 75 75 75", "75,75,75,75", "1001011 1001011 1001011", "113 113 113 113", "U+004B U+004B U+004B", "0x4b, 0x4b, 0x4b", k.text()} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q shows in:\n%s", leak, out.String())
		}
	}
}

func TestTheIDIsStableAndTellsKeysApart(t *testing.T) {
	k, _ := parseKey(strings.Repeat("01", 32))
	if got, want := k.ID(), k.ID(); got != want || len(got) != 16 {
		t.Errorf("ID = %q and %q", got, want)
	}
	if strings.Contains(strings.Repeat("01", 32), k.ID()) {
		t.Error("the ID is part of the key")
	}
	if k.ID() == newKey().ID() {
		t.Error("two keys have one ID")
	}
}
