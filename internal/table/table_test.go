package table

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/xuri/excelize/v2"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/trytest"
)

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// read is a list as text: cells with | in between, each line behind its number.
func read(t *testing.T, data []byte) (string, error) {
	t.Helper()
	var out bytes.Buffer
	noErr(t, Serve(bytes.NewReader(data), &out))
	rows, err := Decode(out.Bytes())
	var lines []string
	for _, r := range rows {
		line := fmt.Sprint(r.Line, " ", strings.Join(r.Cells, "|"))
		if r.Hidden {
			line = "(" + line + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), err
}

func TestTextIsReadAsSpreadsheetsWriteIt(t *testing.T) {
	const want = "1 Name|E-Mail|Ort\n2 Müller; Zoë|zoe@example.com|Straße \"4\"\n4 Ana|ana@example.com"
	text := "Name;E-Mail;Ort\r\n\"Müller; Zoë\";zoe@example.com;\"Straße \"\"4\"\"\"\r\n;;\r\nAna;ana@example.com;\r\n"
	ansi, _ := charmap.Windows1252.NewEncoder().String(text)
	wide, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(strings.ReplaceAll(text, ";", "\t"))
	for name, given := range map[string]string{
		"UTF-8": text, "with a mark": "\ufeff" + text, "Windows-1252": ansi, "commas": strings.ReplaceAll(text, ";", ","), "tabs": strings.ReplaceAll(text, ";", "\t"),
		"UTF-16": wide,
	} {
		got, err := read(t, []byte(given))
		for _, other := range []string{",", "\t"} {
			got = strings.ReplaceAll(got, "Müller"+other, "Müller;")
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for given, want := range map[string]string{
		"A;B\r1;2\r":             "1 A|B\n2 1|2",
		"A;B\r1;\"2\n2\"\r3;4\r": "1 A|B\n2 1|2\n2\n4 3|4",
		"A;B\r1;2\r3;4\n":        "1 A|B\n2 1|2\n3 3|4", // the last one was added in an editor
	} {
		if got, err := read(t, []byte(given)); err != nil || got != want {
			t.Errorf("with a Mac's line ends: %q, %v", got, err)
		}
	}
	if got, err := read(t, []byte("sep=|\nA|B\n1|2\n")); err != nil || got != "2 A|B\n3 1|2" {
		t.Errorf("with its own separator: %q, %v", got, err)
	}
}

func TestAWorkbookIsReadAsPeopleSeeIt(t *testing.T) {
	f := excelize.NewFile()
	style := func(s excelize.Style) int {
		return must(f.NewStyle(&s))
	}
	hour := `yyyy-mm-dd hh:mm`
	german, colour := `[$-407]dd. mmm yyyy`, `[Red]0.00" days"`
	day := time.Date(2031, 12, 31, 0, 0, 0, 0, time.UTC)
	for cell, x := range map[string]struct {
		value any
		style int
	}{
		"A2": {"Name", 0}, "B2": {"Due", 0}, "C2": {"Start", 0}, "D2": {"Rent", 0}, "E2": {"Flat", 0},
		"A4": {"Zoë", 0}, "B4": {day, style(excelize.Style{NumFmt: 14})}, "C4": {day, style(excelize.Style{CustomNumFmt: &german})},
		"D4": {1200.5, style(excelize.Style{CustomNumFmt: &colour})}, "E4": {"0042", style(excelize.Style{NumFmt: 14})},
		"F2": {"Until", 0}, "F4": {day.Add(24*time.Hour - time.Second), style(excelize.Style{CustomNumFmt: &hour})},
	} {
		noErr(t, f.SetCellValue("Sheet1", cell, x.value))
		if x.style > 0 {
			noErr(t, f.SetCellStyle("Sheet1", cell, cell, x.style))
		}
	}
	b := must(f.WriteToBuffer())
	if got, err := read(t, b.Bytes()); err != nil || got != "2 Name|Due|Start|Rent|Flat|Until\n4 Zoë|2031-12-31|2031-12-31|1200.50 days|0042|2031-12-31 23:59" {
		t.Errorf("%q, %v", got, err)
	}
}

// workbook has one sheet and no styles, as a program may write it that is not Excel.
func workbook(t *testing.T, sheet string) []byte {
	b, err := excelize.NewFile().WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	from := must(zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len())))
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range from.File {
		if f.Name != "xl/worksheets/sheet1.xml" && f.Name != "xl/styles.xml" {
			err = errors.Join(err, z.Copy(f))
		}
	}
	w, failed := z.Create("xl/worksheets/sheet1.xml")
	_, written := io.WriteString(w, `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`+sheet+`</worksheet>`)
	noErr(t, errors.Join(err, failed, written, z.Close()))
	return out.Bytes()
}

func TestAQuotationMarkThatIsNotClosedIsSaidByItsLine(t *testing.T) {
	for _, list := range []string{"A,B\n1,2\n\"3,4\n5,6\n", "A,B\n1,2\nAna \"R\",4\n"} {
		var out bytes.Buffer
		noErr(t, Serve(strings.NewReader(list), &out))
		_, err := Decode(out.Bytes())
		if quote, ok := errors.AsType[*QuoteError](err); !ok || quote.Line != 3 {
			t.Errorf("%q: %v", list, err)
		}
	}
}

func TestNoCellOfAWorkbookIsTakenForAnother(t *testing.T) {
	const heads = `<row r="1"><c r="A1" t="inlineStr"><is><t>E-mail</t></is></c><c r="B1" t="inlineStr"><is><t>X</t></is></c></row>`
	for name, c := range map[string]struct{ rest, want string }{
		"a sum":                      {`<row r="2"><c r="A2"><v>0.30000000000000004</v></c></row></sheetData>`, "2 0.3"},
		"a yes":                      {`<row r="2"><c r="A2" t="b"><v>1</v></c></row></sheetData>`, "2 TRUE"},
		"figures of a formula":       {`<row r="2"><c r="A2" t="str"><f>TEXT(42,"0000")</f><v>0042</v></c></row></sheetData>`, "2 0042"},
		"a formula not computed":     {`<row r="2"><c r="A2"><f>B9</f></c><c r="B2"><v>1</v></c></row></sheetData>`, "2 #N/A|1"},
		"a formula with an empty":    {`<row r="2"><c r="A2" t="str"><f>""</f><v></v></c><c r="B2"><v>1</v></c></row></sheetData>`, "2 |1"},
		"a cell over several lines":  {`<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>7</v></c></row><row r="3"><c r="A3"><v>2</v></c></row></sheetData><mergeCells count="1"><mergeCell ref="B2:B3"/></mergeCells>`, "2 1|7\n3 2|7"},
		"a cell over the last lines": {`<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>7</v></c></row></sheetData><mergeCells count="1"><mergeCell ref="B2:XFD1048576"/></mergeCells>`, "2 1|7"},
		"lines without a filter":     {`<row r="2" hidden="1"><c r="A2"><v>1</v></c></row><row r="5"><c r="A5"><v>2</v></c></row></sheetData>`, "(2 1)\n5 2"},
		"a cell far away":            {`<row r="2"><c r="A2"><v>1</v></c><c r="XFD2" s="0"/></row></sheetData>`, "2 1"},
		"names of numbers":           {`<row r="2"><c r="A2" t="inlineStr"><is><t>Inf</t></is></c><c r="B2" t="inlineStr"><is><t>0x10</t></is></c></row></sheetData>`, "2 Inf|0x10"},
	} {
		got, err := read(t, workbook(t, `<sheetData>`+heads+c.rest))
		if want := "1 E-mail|X\n" + c.want; err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestACellThatIsTooLongIsSaidAndTheOthersAreRead(t *testing.T) {
	for name, long := range map[string]string{"by one": strings.Repeat("ü", office.MaxCell+1), "by far": strings.Repeat("m ", 50_000)} {
		var out bytes.Buffer
		noErr(t, Serve(strings.NewReader("E-mail,Message\nana@example.com,"+long+"\njan@example.com,"+strings.Repeat("ü", office.MaxCell)+"\n"), &out))
		rows, err := Decode(out.Bytes())
		noErr(t, err)
		l := office.ReadList("list.csv", rows, office.NewPackage{Name: "Lease", Files: []string{"a.pdf"}}, nil, time.Now(), "")
		if wrong := l.Faulty(); len(l.Lines) != 2 || len(l.Wrong) > 0 || len(wrong) != 1 || wrong[0].Line != 2 || len(wrong[0].Wrong) != 1 ||
			wrong[0].Wrong[0] != (office.CellError{Column: 1, Text: message.ListCellLong(office.MaxCell)}) {
			t.Errorf("%s: %d lines, %v, %+.900v", name, len(l.Lines), l.Wrong, wrong)
		}
	}
}

func TestWhatIsTooMuchOrNoListIsRefused(t *testing.T) {
	var bomb bytes.Buffer
	z := zip.NewWriter(&bomb)
	for _, name := range []string{"[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"} {
		w, _ := z.Create(name)
		for range maxContent/3>>20 + 1 {
			w.Write(bytes.Repeat([]byte(" "), 1<<20))
		}
	}
	z.Close()
	for name, c := range map[string]struct {
		given string
		want  error
	}{
		"a bomb":            {bomb.String(), ErrTooLarge},
		"a damaged archive": {"PK\x03\x04" + strings.Repeat("x", 400), ErrUnreadable},
		"the old format":    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ErrProtected},
		"a picture":         {"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", ErrUnreadable},
		"damaged UTF-8":     {"\ufeffName,E-mail\nM\xc3ller,ana@example.com\n", ErrUnreadable},
		"an open quote":     {"Name,E-mail\nAna,\"ana@example.com\nJan,jan@example.com\n", ErrUnreadable},
		"many lines":        {"Name\n" + strings.Repeat("a\n", MaxLines+1), ErrTooLarge},
		"many columns":      {"Name" + strings.Repeat(",a", MaxColumns), ErrTooLarge},
	} {
		if got, err := read(t, []byte(c.given)); !errors.Is(err, c.want) || got != "" {
			t.Errorf("%s: %.100q, %v", name, got, err)
		}
	}
	var out bytes.Buffer
	noErr(t, Serve(iotest.ErrReader(errors.New("the disk failed")), &out))
	if _, err := Decode(out.Bytes()); !errors.Is(err, ErrUnreadable) {
		t.Errorf("half a list: %v", err)
	}
	if _, err := Decode([]byte(`{"verdict":"new"}`)); err == nil {
		t.Error("an unknown verdict counts as a list")
	}
}
