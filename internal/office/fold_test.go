package office

import (
	"math/rand/v2"
	"testing"
)

func TestLettersAreComparedAsPeopleTypeThem(t *testing.T) {
	for in, want := range map[string]string{"Straße": "strasse", "Łódź": "lodz", "Nguyễn Đức": "nguyen duc", "Παπαδοπούλου": "παπαδοπουλου",
		"Ünal İnce": "unal ince", "Þórðardóttir": "þorðardottir", "ASCII only": "ascii only"} {
		if got := Fold(in); got != want {
			t.Errorf("%q is compared as %q, want %q", in, got, want)
		}
	}
}

func TestTheUsualLettersAreFoldedLikeAllOthers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for r := range rune(usual) {
		for range 20 {
			text := string([]rune{random.Int32N(usual), r, random.Int32N(usual), r, random.Int32N(2 * usual)}[:1+random.IntN(5)])
			if got, want := Fold(text), foldAny(text); got != want {
				t.Fatalf("%q is folded to %q, want %q", text, got, want)
			}
		}
	}
	if got, want := Fold("Caf\xe9 É"), foldAny("Caf\xe9 É"); got != want {
		t.Errorf("what is no text is folded to %q, want %q", got, want)
	}
}
