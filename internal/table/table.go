// Package table reads lists from outside: CSV as Excel and similar programs write it, and XLSX. A list may be hostile: Serve
// reads it in a restricted process (package preview), and Decode does not trust that process's output.
//
// It promises that a list has at most MaxLines lines of MaxColumns cells, that a cell beyond office.MaxCell stays too long though it
// is cut, that a damaged list is rejected and not read in part, and that a date comes out as 2026-12-31, however its cell shows it.
// It does not know what the columns mean.
package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"countersign/internal/office"
)

const (
	MaxLines   = 5000 // below the headings
	MaxColumns = 200
	maxFile    = 16 << 20
	maxContent = 64 << 20 // of an uncompressed XLSX
	MaxAnswer  = 32 << 20
)

// Why a list cannot be read.
var (
	ErrProtected  = errors.New("protected by a password")
	ErrTooLarge   = errors.New("too large")
	ErrUnreadable = errors.New("cannot be read")
)

// QuoteError is ErrUnreadable: a quotation mark is not closed, or stands inside a text.
type QuoteError struct{ Line int }

func (e *QuoteError) Error() string {
	return fmt.Sprintf("line %d: a quotation mark is not closed", e.Line)
}
func (e *QuoteError) Unwrap() error { return ErrUnreadable }

var verdicts = map[string]error{"protected": ErrProtected, "large": ErrTooLarge, "unreadable": ErrUnreadable}

type answer struct {
	Rows    []office.ListRow `json:"rows,omitempty"`
	Verdict string           `json:"verdict,omitempty"`
	Quote   int              `json:"quote,omitempty"` // QuoteError.Line
}

// Serve reads a list and writes it in the format of Decode.
func Serve(in io.Reader, out io.Writer) error {
	rows, err := Read(in)
	a := answer{Rows: rows}
	if err != nil {
		a.Verdict = "unreadable"
	}
	if quote, ok := errors.AsType[*QuoteError](err); ok {
		a.Quote = quote.Line
	}
	for name, known := range verdicts {
		if errors.Is(err, known) {
			a.Verdict = name
		}
	}
	return json.NewEncoder(out).Encode(a)
}

// Decode reads the output of Serve.
func Decode(data []byte) ([]office.ListRow, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if a.Quote > 0 {
		return nil, &QuoteError{a.Quote}
	}
	if a.Verdict != "" {
		if err := verdicts[a.Verdict]; err != nil {
			return nil, err
		}
		return nil, ErrUnreadable
	}
	return trim(a.Rows)
}

// Read reads a list in this process. A file that begins like a ZIP is an XLSX.
func Read(in io.Reader) ([]office.ListRow, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, ErrTooLarge
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")): // the old format, or one with a password
		return nil, ErrProtected
	}
	var rows []office.ListRow
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		rows, err = readXLSX(data)
	} else {
		rows, err = readCSV(data)
	}
	if err != nil {
		return nil, err
	}
	return trim(rows)
}

// trim removes empty lines and trailing empty cells, and enforces the limits.
func trim(rows []office.ListRow) (kept []office.ListRow, err error) {
	for _, row := range rows {
		for i, cell := range row.Cells {
			row.Cells[i] = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(cell, "\ufffd"), "\u00a0", " "))
			if text := []rune(row.Cells[i]); len(text) > office.MaxCell+1 {
				row.Cells[i] = string(text[:office.MaxCell]) + "…" // still too long, so it is not sent
			}
		}
		for len(row.Cells) > 0 && row.Cells[len(row.Cells)-1] == "" {
			row.Cells = row.Cells[:len(row.Cells)-1]
		}
		if len(row.Cells) > MaxColumns {
			return nil, ErrTooLarge
		}
		if len(row.Cells) > 0 {
			kept = append(kept, row)
		}
	}
	if len(kept) > MaxLines+1 {
		return nil, ErrTooLarge
	}
	return kept, nil
}

// readCSV reads text in whatever encoding and with whatever separator Excel has written it. It rejects an unclosed quote,
// which would turn all further lines into one cell.
func readCSV(data []byte) (rows []office.ListRow, err error) {
	text, err := decodeText(data)
	if err != nil {
		return nil, err
	}
	comma, lines := separator(text), 0
	if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "sep=") {
		text, lines = rest, 1
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord = comma, -1
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return rows, nil
		}
		if quote, ok := errors.AsType[*csv.ParseError](err); ok { // fields may differ in number: nothing else can be wrong
			return nil, &QuoteError{quote.StartLine + lines}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if len(rows) > 2*MaxLines {
			return nil, ErrTooLarge
		}
		line, _ := r.FieldPos(0)
		rows = append(rows, office.ListRow{Line: line + lines, Cells: cells})
	}
}

// decodeText converts text to UTF-8: according to its byte order mark, otherwise as UTF-8 if valid, otherwise as
// Windows-1252. Text with zero bytes is rejected.
func decodeText(data []byte) (string, error) {
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		data, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(data)
	case !utf8.Valid(data) && !bytes.HasPrefix(data, []byte("\ufeff")): // claims to be UTF-8 but is not: damaged
		data, err = charmap.Windows1252.NewDecoder().Bytes(data)
	}
	if err != nil || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return "", ErrUnreadable
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), nil // Excel for Mac can end lines with \r
}

// separator is what separates cells: according to a "sep=" line, otherwise the most frequent candidate in the first line
// outside of quotes.
func separator(text string) rune {
	first, _, _ := strings.Cut(text, "\n")
	if named, ok := strings.CutPrefix(first, "sep="); ok && len(named) == 1 {
		return rune(named[0])
	}
	quoted, found := false, map[rune]int{}
	for _, r := range first {
		if r == '"' {
			quoted = !quoted
		}
		if !quoted {
			found[r]++
		}
	}
	return slices.MaxFunc([]rune{';', ',', '\t'}, func(a, b rune) int { return found[a] - found[b] })
}

// readXLSX reads the first visible sheet. It unpacks nothing into files.
func readXLSX(data []byte) (rows []office.ListRow, err error) {
	f, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipSizeLimit: maxContent, UnzipXMLSizeLimit: maxContent})
	switch {
	case errors.Is(err, excelize.ErrWorkbookPassword):
		return nil, ErrProtected
	case err != nil && strings.Contains(err.Error(), "unzip size"):
		return nil, ErrTooLarge
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer f.Close()
	sheets := f.GetSheetList()
	at := slices.IndexFunc(sheets, func(name string) bool { shown, err := f.GetSheetVisible(name); return err == nil && shown })
	if at < 0 {
		return nil, ErrUnreadable
	}
	found, err := f.Rows(sheets[at])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for line := 1; found.Next(); line++ {
		cells, err := found.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if n := MaxColumns + 1; len(cells) > n && strings.Join(cells[n:], "") == "" {
			cells = slices.Clone(cells[:n]) // an empty cell far to the right brings along all cells before it
		}
		if len(cells) > 4*MaxColumns {
			return nil, ErrTooLarge
		}
		if len(cells) > 0 {
			rows = append(rows, office.ListRow{Line: line, Cells: cells, Hidden: found.GetRowOpts().Hidden})
		}
		if len(rows) > 2*MaxLines {
			return nil, ErrTooLarge
		}
	}
	if err := errors.Join(found.Error(), found.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := spread(f, sheets[at], rows); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	s := sheet{f, sheets[at], map[int]bool{}}
	for _, row := range rows {
		for i, raw := range row.Cells[:min(len(row.Cells), MaxColumns)] {
			if raw == "" && (i >= len(rows[0].Cells) || rows[0].Cells[i] == "") {
				continue // no heading
			}
			if row.Cells[i], err = s.shown(raw, i+1, row.Line); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
		}
	}
	return rows, nil
}

// spread copies a merged cell to each of its lines that has other content.
func spread(f *excelize.File, name string, rows []office.ListRow) error {
	merged, err := f.GetMergeCells(name, true)
	if err != nil {
		return err
	}
	for _, m := range merged {
		column, first, err := excelize.CellNameToCoordinates(m.GetStartAxis())
		_, last, failed := excelize.CellNameToCoordinates(m.GetEndAxis())
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		at, found := slices.BinarySearchFunc(rows, first, func(row office.ListRow, line int) int { return row.Line - line })
		if !found || column > min(MaxColumns, len(rows[at].Cells)) {
			continue
		}
		for i := at + 1; i < len(rows) && rows[i].Line <= last; i++ {
			if row := &rows[i]; strings.Join(row.Cells, "") != "" {
				row.Cells = append(row.Cells, make([]string, max(0, column-len(row.Cells)))...)
				row.Cells[column-1] = rows[at].Cells[column-1]
			}
		}
	}
	return nil
}

type sheet struct {
	file  *excelize.File
	name  string
	dates map[int]bool // by style: it shows a number as a date
}

// notComputed replaces a formula whose result the writing program did not store.
const notComputed = "#N/A"

// shown is a cell as people see it, but a date in ISO form.
func (s sheet) shown(raw string, column, line int) (string, error) {
	number, err := strconv.ParseFloat(raw, 64)
	if err != nil && raw != "" {
		return raw, nil
	}
	cell, err := excelize.CoordinatesToCellName(column, line)
	if err != nil {
		return "", err
	}
	kind, err := s.file.GetCellType(s.name, cell)
	if err != nil || kind == excelize.CellTypeSharedString || kind == excelize.CellTypeInlineString || kind == excelize.CellTypeFormula {
		return raw, err
	}
	if raw == "" {
		formula, err := s.file.GetCellFormula(s.name, cell)
		if formula != "" {
			raw = notComputed
		}
		return raw, err
	}
	style, err := s.file.GetCellStyle(s.name, cell)
	if err != nil {
		return "", err
	}
	date, known := s.dates[style]
	if !known {
		how, err := s.file.GetStyle(style)
		if err != nil && style != 0 { // there need not be any styles
			return "", err
		}
		date = err == nil && isDate(how)
		s.dates[style] = date
	}
	if !date {
		return s.file.GetCellValue(s.name, cell)
	}
	properties, err := s.file.GetWorkbookProps()
	if err != nil {
		return "", err
	}
	at, err := excelize.ExcelDateToTime(number, properties.Date1904 != nil && *properties.Date1904)
	if err != nil {
		return "", err
	}
	if _, part := math.Modf(number); part != 0 {
		return at.Round(time.Second).Format("2006-01-02 15:04"), nil
	}
	return at.Format(time.DateOnly), nil
}

// said matches the parts of a number format that are not format codes: texts, colours and conditions.
var said = regexp.MustCompile(`"[^"]*"|\\.|\[[^\]]*\]`)

// isDate reports whether a style shows the day of a date (ECMA-376, 18.8.30).
func isDate(s *excelize.Style) bool {
	if s.CustomNumFmt != nil {
		return strings.ContainsAny(strings.ToLower(said.ReplaceAllString(*s.CustomNumFmt, "")), "dy")
	}
	n := s.NumFmt
	return n >= 14 && n <= 17 || n == 22 || n >= 27 && n <= 31 || n == 36 || n >= 50 && n <= 58
}
