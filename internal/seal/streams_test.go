package seal_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"countersign/internal/office"
)

// Readers unpack an object stream with odd parameters in different ways: if one of them shows another page, the document is
// not unchanged; nor is it with a table that claims millions of entries without any bytes.
func TestStreamsThatReadersUnpackDifferently(t *testing.T) {
	victim := newIdentity(t, "Signing service", ecKey(t), nil)
	sealed := victim.seal(t, document(t))
	trust := victim.trusted(sealedAt.AddDate(0, 1, 0))
	page := string(regexp.MustCompile(`(?s)3 0 obj\s*(<</Annots.*?>>)\s*endobj`).FindSubmatch(sealed)[1])
	other := strings.Fields("<< /Type /Page /Parent 1 0 R /MediaBox [0 0 595 842] /Contents 9000 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>")
	const first = 40
	forged := func(table, parameters string, objects []byte) []byte {
		var packed, entries bytes.Buffer
		z := zlib.NewWriter(&packed)
		z.Write(objects)
		z.Close()
		out := bytes.NewBuffer(bytes.Clone(sealed))
		before := regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`).FindSubmatch(sealed)[1]
		root := regexp.MustCompile(`/Root (\d+) 0 R`).FindAllSubmatch(sealed, -1)
		at := map[int]int{}
		put := func(number int, s string) {
			at[number] = out.Len()
			fmt.Fprintf(out, "%d 0 obj\n%s\nendobj\n", number, s)
		}
		text := "BT /F1 40 Tf 60 600 Td (Rent is 9999) Tj ET"
		put(9000, fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text))
		put(9001, "12")
		put(9003, fmt.Sprintf("<</Type/ObjStm/N 2/First %d/Filter/FlateDecode/DecodeParms%s/Length %d>>\nstream\n%s\nendstream", first, parameters, packed.Len(), packed.String()))
		at[9005] = out.Len()
		entry := func(kind byte, a, b int) {
			entries.Write([]byte{kind, byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a), byte(b >> 8), byte(b)})
		}
		entry(2, 9003, 1)
		entry(2, 9003, 0)
		for _, number := range []int{9000, 9001, 9003, 9005} {
			entry(1, at[number], 0)
		}
		fmt.Fprintf(out, "9005 0 obj\n<</Type/XRef%s/Size 9006/Root %s 0 R/Prev %s/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
			table, root[len(root)-1][1], before, entries.Len(), entries.String(), at[9005])
		return out.Bytes()
	}
	const table = "/W[1 4 2]/Index[3 1 8500 1 9000 2 9003 1 9005 1]"
	padded := func(s string, to int) []byte { return append([]byte(s), strings.Repeat(" ", to-len(s))...) }

	raw := append(padded(" 8500 0 3 2000 ", first), '(') // the other page, in nine of ten bytes of a string
	for _, c := range []byte(strings.Repeat(" ", 10) + strings.Join(other, " ") + strings.Repeat(" ", 40)) {
		if len(raw)%10 == 0 {
			raw = append(raw, '0')
		}
		raw = append(raw, c)
	}
	raw = append(padded(string(append(raw, ')')), first+2000), page+"          "...)

	rows := append(padded("8500 0 3 9000 ", first), "(              "...) // the other page in a string, where the rows' predictor bytes are spaces
	for _, word := range other {
		for len(rows)%10+len(word) > 10 {
			rows = append(rows, ' ')
		}
		rows = append(append(rows, word...), ' ')
	}
	rows = append(padded(string(rows)+"                        )", first+9000), page...)
	rows = padded(string(rows), (len(rows)+9)/10*10)
	var predicted []byte
	for at := 0; at < len(rows); at += 10 {
		predicted = append(append(predicted, 0), rows[at:at+10]...)
	}
	for name, pdf := range map[string][]byte{
		"a predictor that stands elsewhere":       forged(table, "<</Predictor 9001 0 R/Columns 9>>", raw),
		"parameters in a list for a filter alone": forged(table, "[<</Predictor 12/Columns 10>>]", predicted),
		"parameters under their short name":       forged(table, "<<>>/DP<</Predictor 12/Columns 9>>", raw),
		"a row that is cut short":                 forged(table, "<</Predictor 12/Columns 10>>", append(predicted, 0, '9')),
		"a table of millions in no bytes":         forged("/W[0 0 0]/Index[1 2000000000]", "<<>>", nil),
	} {
		if v := judge(t, pdf, trust); v.State != office.SealChanged {
			t.Errorf("%s: %s", name, v.State)
		}
	}
}
