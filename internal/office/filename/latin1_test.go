package filename

import "testing"

func TestANameThatIsNoUTF8IsReadAsLatin1(t *testing.T) {
	for from, want := range map[string]string{"\xc4nderung.pdf": "Änderung.pdf", "Änderung.pdf": "Änderung.pdf", "": ""} {
		if got := FromLatin1(from); got != want {
			t.Errorf("%q became %q", from, got)
		}
	}
}
