package seal

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What was added behind a seal is read by a grammar that leaves nothing to readers' tolerance: where two readers could see two documents,
// it is no update. It knows one way to write each thing (ISO 32000-1, 7.2, 7.3 and 7.5).

// name, ref and other are values of a PDF; strings, numbers and the like are as they are written. Dictionaries are maps, arrays slices.
type (
	name  string
	ref   [2]int // number and generation
	other string
)

// updates are the objects in revisions that were added to a document, by their numbers: where the last one of each is said to be.
type updates map[int]place

// place is where an object is: a place of the file, or that in the stream of a number.
type place struct {
	at     int64
	stream int // 0 for none
}

// reading reads what was added behind the first base bytes.
type reading struct {
	text []byte
	at   int
	base int64
}

// errLoose means that something is not written in the one way.
var errLoose = fmt.Errorf("the update is not written as strictly as it has to be")

// readUpdates reads revisions to the end of a file. before is where the table of the last one before is, root its catalog, and size how many
// objects it counts: none of them may be beyond the count.
func readUpdates(text []byte, base, before int64, root ref, size int) (all updates, err error) {
	defer func() {
		if recover() != nil { // beyond the end
			err = errLoose
		}
	}()
	r := &reading{text: text, base: base}
	all = updates{}
	for r.blank(); r.at < len(r.text); r.blank() {
		start, err := r.revision(all, before, root, &size)
		if err != nil {
			return nil, err
		}
		before = start
	}
	return all, nil
}

// revision is what was added at once.
type revision struct {
	objects map[int]place  // where they begin
	values  map[int]any    // of those that are no streams
	lengths map[ref][2]int // of streams that name an object for it: the least and the most that it may be
	table   map[int]place  // where objects are said to be
	hybrid  int64          // where the table that is a stream is, of two; 0 for none
}

// revision reads objects, where they are, and the end. It returns where that table is.
func (r *reading) revision(all updates, before int64, root ref, size *int) (start int64, err error) {
	v := revision{objects: map[int]place{}, values: map[int]any{}, lengths: map[ref][2]int{}, table: map[int]place{}}
	var trailer map[string]any
	for trailer == nil {
		if err := r.comment(); err != nil {
			return 0, err
		}
		start = r.base + int64(r.at)
		if r.word("xref") {
			trailer, err = r.table(&v)
		} else {
			trailer, err = r.object(&v, start)
		}
		if err != nil {
			return 0, err
		}
	}
	if trailer["Prev"] != other(strconv.FormatInt(before, 10)) || trailer["Root"] != root || trailer["Encrypt"] != nil || !r.sound(v, trailer, start) {
		return 0, errLoose
	}
	now := numbers([]any{trailer["Size"]})
	if len(now) == 0 || now[0] < *size || now[0] <= slices.Max(slices.Collect(maps.Keys(v.table))) {
		return 0, errLoose
	}
	*size = now[0]
	maps.Copy(all, v.objects)
	maps.Copy(all, v.table)
	if err := r.comment(); err != nil {
		return 0, err
	}
	if !r.word("startxref") {
		return 0, errLoose
	}
	said, err := strconv.ParseInt(r.next(), 10, 64)
	if err != nil || r.exact(place{at: said}).at != start {
		return 0, errLoose
	}
	return said, r.expect("%%EOF")
}

// comment passes over the name of a program, between objects.
func (r *reading) comment() error {
	r.blank()
	if r.word("%") {
		line, _, _ := bytes.Cut(r.text[r.at:], []byte("\n"))
		if bytes.ContainsAny(line, "%\r") || bytes.Contains(line, []byte("xref")) || bytes.Contains(line, []byte("obj")) {
			return errLoose
		}
		r.at += len(line)
		r.blank()
	}
	return nil
}

// sound reports whether the tables say where all objects are, and nothing else, and streams are as long as they say.
func (r *reading) sound(v revision, trailer map[string]any, start int64) bool {
	if stm := trailer["XRefStm"]; stm != nil && stm != other(strconv.FormatInt(v.hybrid, 10)) {
		return false
	}
	for number, at := range v.table {
		if v.objects[number] != r.exact(at) {
			return false
		}
	}
	for number, at := range v.objects {
		_, named := v.table[number]
		if !named && at != (place{at: start}) && at != (place{at: v.hybrid}) { // a table that is a stream need not name itself
			return false
		}
	}
	for of, between := range v.lengths {
		text, _ := v.values[of[0]].(other)
		if n, err := strconv.Atoi(string(text)); err != nil || n < between[0] || n > between[1] {
			return false
		}
	}
	return true
}

// exact is a place without blanks before the object: some programs count those in.
func (r *reading) exact(at place) place {
	if at.stream == 0 {
		for i := at.at - r.base; i >= 0 && i < int64(len(r.text)) && strings.IndexByte(blank, r.text[i]) >= 0; i++ {
			at.at++
		}
	}
	return at
}

// add says where an object is.
func (v revision) add(number int, at place) bool {
	was, twice := v.table[number]
	v.table[number] = at
	return !twice || was == at && v.hybrid != 0
}

// object reads N G obj … endobj. It returns the dictionary of a table that ends the revision.
func (r *reading) object(v *revision, start int64) (trailer map[string]any, err error) {
	number, err := strconv.Atoi(r.next())
	_, twice := v.objects[number]
	if generation := r.next(); generation != "0" || err != nil || number <= 0 || twice {
		return nil, errLoose
	}
	if err := r.expect("obj"); err != nil {
		return nil, err
	}
	v.objects[number] = place{at: start}
	value, err := r.value(maxDepth)
	if err != nil {
		return nil, err
	}
	r.blank()
	dict, _ := value.(map[string]any)
	if !r.word("stream") {
		v.values[number] = value
		return nil, r.expect("endobj")
	}
	stream, err := r.stream(v, dict)
	if err != nil {
		return nil, err
	}
	if err := r.expect("endobj"); err != nil {
		return nil, err
	}
	if dict["Type"] == name("ObjStm") {
		return nil, v.pack(number, dict, stream)
	}
	if dict["Type"] != name("XRef") {
		return nil, nil
	}
	if err := streamTable(v, dict, stream); err != nil || v.hybrid != 0 {
		return nil, errLoose
	}
	r.blank()
	if bytes.HasPrefix(r.text[r.at:], []byte("startxref")) || r.text[r.at] == '%' {
		return dict, nil
	}
	v.hybrid = start
	return nil, nil
}

// pack reads the objects in a stream (ISO 32000-1, 7.5.7).
func (v *revision) pack(number int, dict map[string]any, stream []byte) error {
	text, err := unpack(dict, stream)
	sizes := numbers([]any{dict["N"], dict["First"]})
	if err != nil || len(sizes) != 2 || dict["Extends"] != nil || sizes[1] > len(text) {
		return errLoose
	}
	head := &reading{text: text[:sizes[1]]}
	at := make([][2]int, sizes[0])
	for i := range at {
		for j := range at[i] {
			if at[i][j], err = strconv.Atoi(head.next()); err != nil {
				return errLoose
			}
		}
	}
	for i, of := range at {
		end := len(text)
		if i+1 < len(at) {
			end = sizes[1] + at[i+1][1]
		}
		body := &reading{text: append(bytes.Clone(text[sizes[1]+of[1]:end]), ' ')}
		value, err := body.value(maxDepth)
		body.blank()
		if _, twice := v.objects[of[0]]; err != nil || twice || body.at < len(body.text) {
			return errLoose
		}
		v.objects[of[0]], v.values[of[0]] = place{int64(i), number}, value
	}
	return nil
}

func (r *reading) expect(text string) error {
	if r.blank(); !r.word(text) {
		return errLoose
	}
	return nil
}

// stream reads the bytes of a stream, and what ends it.
func (r *reading) stream(v *revision, dict map[string]any) ([]byte, error) {
	if r.text[r.at] == '\r' {
		r.at++
	}
	if r.text[r.at] != '\n' {
		return nil, errLoose
	}
	r.at++
	from := r.at
	switch length := dict["Length"].(type) {
	case other:
		n, err := strconv.Atoi(string(length))
		if err != nil || n < 0 {
			return nil, errLoose
		}
		r.at += n
	case ref:
		n := bytes.Index(r.text[from:], []byte("endstream"))
		least := len(bytes.TrimRight(r.text[from:from+n], "\r\n"))
		v.lengths[length] = [2]int{min(least, n), n}
		r.at += n
	default:
		return nil, errLoose
	}
	stream := r.text[from:r.at]
	return stream, r.expect("endstream")
}

// table reads entries, each of an object that is there, and the trailer.
func (r *reading) table(v *revision) (trailer map[string]any, err error) {
	for r.blank(); r.text[r.at] >= '0' && r.text[r.at] <= '9'; r.blank() {
		first, err1 := strconv.Atoi(r.next())
		count, err2 := strconv.Atoi(r.next())
		if err1 != nil || err2 != nil {
			return nil, errLoose
		}
		for i := range count {
			at, err := strconv.ParseInt(r.next(), 10, 64)
			generation := r.next()
			switch kind := r.next(); {
			case err != nil:
				return nil, errLoose
			case kind == "f" && first+i == 0: // the head of the free ones
			case kind != "n" || strings.Trim(generation, "0") != "" || !v.add(first+i, place{at: at}):
				return nil, errLoose
			}
		}
	}
	if err := r.expect("trailer"); err != nil {
		return nil, err
	}
	return r.dict()
}

// streamTable reads the same from a stream.
func streamTable(v *revision, dict map[string]any, stream []byte) error {
	rows, err := unpack(dict, stream)
	if err != nil {
		return err
	}
	w, index := numbers(dict["W"]), numbers(dict["Index"])
	if dict["Index"] == nil {
		index = append([]int{0}, numbers([]any{dict["Size"]})...)
	}
	if len(w) != 3 || len(index)%2 != 0 {
		return errLoose
	}
	field := func(n int, missing int64) (x int64) {
		if n == 0 {
			return missing
		}
		for _, b := range rows[:n] {
			x = x<<8 | int64(b)
		}
		rows = rows[n:]
		return x
	}
	for i := 0; i < len(index); i += 2 {
		for number := index[i]; number < index[i]+index[i+1]; number++ {
			kind, second, third := field(w[0], 1), field(w[1], 0), field(w[2], 0)
			at := place{at: second}
			if kind == 2 {
				at = place{third, int(second)}
			}
			if kind == 0 && number == 0 {
				continue
			}
			if kind < 1 || kind > 2 || kind == 1 && third != 0 || !v.add(number, at) {
				return errLoose
			}
		}
	}
	return nil
}

// maxTable is how large an unpacked table may be.
const maxTable = 16 << 20 // bytes

// unpack undoes the filter of a table, with the rows' differences to the ones above (ISO 32000-1, 7.4.4.4; PNG's up).
func unpack(dict map[string]any, stream []byte) ([]byte, error) {
	switch filter := dict["Filter"]; {
	case filter == nil:
		return stream, nil
	case fmt.Sprint(filter) != "FlateDecode" && fmt.Sprint(filter) != "[FlateDecode]":
		return nil, errLoose
	}
	z, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, errLoose
	}
	rows, err := io.ReadAll(io.LimitReader(z, maxTable+1))
	if err != nil || len(rows) > maxTable {
		return nil, errLoose
	}
	parameters, _ := dict["DecodeParms"].(map[string]any)
	if list, is := dict["DecodeParms"].([]any); is && len(list) == 1 {
		parameters, _ = list[0].(map[string]any)
	}
	predictor, columns := numbers([]any{parameters["Predictor"]}), numbers([]any{parameters["Columns"]})
	if len(predictor) == 0 || predictor[0] < 10 {
		return rows, nil
	}
	if len(columns) == 0 || columns[0] <= 0 {
		return nil, errLoose
	}
	var out []byte
	above := make([]byte, columns[0])
	for n := columns[0] + 1; len(rows) >= n; rows = rows[n:] {
		if kind := rows[0]; kind != 0 && kind != 2 {
			return nil, errLoose
		}
		line := bytes.Clone(rows[1:n])
		for i := range line {
			if rows[0] == 2 {
				line[i] += above[i]
			}
		}
		out, above = append(out, line...), line
	}
	return out, nil
}

// numbers are the whole numbers of an array; nil when it has anything else.
func numbers(array any) (all []int) {
	list, _ := array.([]any)
	for _, v := range list {
		text, _ := v.(other)
		n, err := strconv.Atoi(string(text))
		if err != nil || n < 0 {
			return nil
		}
		all = append(all, n)
	}
	return all
}

func (r *reading) blank() {
	for r.at < len(r.text) && strings.IndexByte(blank, r.text[r.at]) >= 0 {
		r.at++
	}
}

// word passes a word over, if that is what stands here.
func (r *reading) word(text string) bool {
	if !bytes.HasPrefix(r.text[r.at:], []byte(text)) {
		return false
	}
	r.at += len(text)
	return true
}

// next is the token behind blanks.
func (r *reading) next() string {
	r.blank()
	return r.token()
}

// token passes over and returns what stands here up to a blank or a delimiter.
func (r *reading) token() string {
	from := r.at
	for r.at < len(r.text) && strings.IndexByte(blank+"()<>[]{}/%", r.text[r.at]) < 0 {
		r.at++
	}
	return string(r.text[from:r.at])
}

func (r *reading) value(depth int) (any, error) {
	r.blank()
	if depth == 0 {
		return nil, errLoose
	}
	switch b := r.text[r.at]; {
	case b == '/':
		r.at++
		text := r.token()
		return name(text), nil
	case b == '<' && r.text[r.at+1] == '<':
		return r.dictAt(depth)
	case b == '<':
		end := bytes.IndexByte(r.text[r.at:], '>')
		r.at += end + 1
		return other(r.text[r.at-end-1 : r.at]), nil
	case b == '(':
		return r.literal()
	case b == '[':
		r.at++
		list := []any{}
		for r.blank(); !r.word("]"); r.blank() {
			v, err := r.value(depth - 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	text := r.token()
	if text == "" {
		return nil, errLoose
	}
	// A reference is three tokens.
	if number, err := strconv.Atoi(text); err == nil {
		here := r.at
		generation, err := strconv.Atoi(r.next())
		if err == nil && r.next() == "R" {
			return ref{number, generation}, nil
		}
		r.at = here
	}
	return other(text), nil
}

func (r *reading) dict() (map[string]any, error) {
	r.blank()
	return r.dictAt(maxDepth)
}

func (r *reading) dictAt(depth int) (map[string]any, error) {
	if !r.word("<<") {
		return nil, errLoose
	}
	d := map[string]any{}
	for r.blank(); !r.word(">>"); r.blank() {
		key, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		text, isName := key.(name)
		if _, twice := d[string(text)]; !isName || twice || strings.Contains(string(text), "#") { // which is another way to write it
			return nil, errLoose
		}
		if d[string(text)], err = r.value(depth - 1); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (r *reading) literal() (any, error) {
	from := r.at
	for depth := 0; ; r.at++ {
		switch r.text[r.at] {
		case '\\':
			r.at++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				r.at++
				return other(r.text[from:r.at]), nil
			}
		}
	}
}
