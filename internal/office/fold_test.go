package office

import "testing"

func TestLettersAreComparedAsPeopleTypeThem(t *testing.T) {
	for in, want := range map[string]string{"Straße": "strasse", "Łódź": "lodz", "Nguyễn Đức": "nguyen duc", "Παπαδοπούλου": "παπαδοπουλου",
		"Ünal İnce": "unal ince", "Þórðardóttir": "þorðardottir", "ASCII only": "ascii only"} {
		if got := Fold(in); got != want {
			t.Errorf("%q is compared as %q, want %q", in, got, want)
		}
	}
}
