package office

import "testing"

func TestNoCellIsAFormula(t *testing.T) {
	for text, want := range map[string]string{
		"Lease 4":            "Lease 4",
		"=1+1":               "'=1+1",
		"+41 31 000":         "'+41 31 000",
		"-2":                 "'-2",
		"@SUM(A1)":           "'@SUM(A1)",
		" \t=1":              "'=1",
		"\"=1\"":             "\"'=1\"",
		"Offer;=cmd|' /C'!A": "Offer;'=cmd|' /C'!A",
		"Offer, @x":          "Offer, '@x",
		"a\r\n=b":            "a  =b",
		"＝1":                 "'＝1",
		"A-B = C":            "A-B = C",
		"":                   "",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
