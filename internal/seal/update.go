package seal

import (
	"bytes"
	"compress/zlib"
	"errors"
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

// errLoose means that something is not written in the one way. Whoever finds that panics with it, up to readUpdates.
var errLoose = errors.New("the update is not written as strictly as it has to be")

func demand(ok bool) {
	if !ok {
		panic(errLoose)
	}
}

// readUpdates reads revisions to the end of a file. before is where the table of the last one before is, root its catalog, and size how many
// objects it counts: none of them may be beyond the count.
func readUpdates(text []byte, base, before int64, root ref, size int) (all updates, err error) {
	defer func() {
		if recover() != nil { // also beyond the end
			err = errLoose
		}
	}()
	r := &reading{text: text, base: base}
	all = updates{}
	for r.blank(); r.at < len(r.text); r.blank() {
		before, size = r.revision(all, before, root, size)
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

// revision reads objects, where they are, and the end. It returns where that table is, and how many objects it counts.
func (r *reading) revision(all updates, before int64, root ref, size int) (start int64, counts int) {
	v := &revision{objects: map[int]place{}, values: map[int]any{}, lengths: map[ref][2]int{}, table: map[int]place{}}
	var trailer map[string]any
	for trailer == nil {
		r.comment()
		start = r.base + int64(r.at)
		if r.word("xref") {
			trailer = r.table(v)
		} else {
			trailer = r.object(v, start)
		}
	}
	demand(trailer["Prev"] == other(strconv.FormatInt(before, 10)) && trailer["Root"] == root && trailer["Encrypt"] == nil)
	r.check(v, trailer, start)
	counts = natural(trailer["Size"])
	demand(counts >= size && counts > slices.Max(slices.Collect(maps.Keys(v.table))))
	maps.Copy(all, v.objects)
	maps.Copy(all, v.table)
	r.comment()
	r.expect("startxref")
	said := integer(r.next())
	demand(r.exact(place{at: said}).at == start)
	r.expect("%%EOF")
	return said, counts
}

// comment passes over the name of a program, between objects.
func (r *reading) comment() {
	r.blank()
	if r.word("%") {
		line, _, _ := bytes.Cut(r.text[r.at:], []byte("\n"))
		demand(!bytes.ContainsAny(line, "%\r") && !bytes.Contains(line, []byte("xref")) && !bytes.Contains(line, []byte("obj")))
		r.at += len(line)
		r.blank()
	}
}

// check demands that the tables say where all objects are, and nothing else, and that streams are as long as they say.
func (r *reading) check(v *revision, trailer map[string]any, start int64) {
	second := trailer["XRefStm"]
	demand(second == nil || second == other(strconv.FormatInt(v.hybrid, 10)))
	for number, at := range v.table {
		demand(v.objects[number] == r.exact(at))
	}
	for number, at := range v.objects {
		_, named := v.table[number]
		demand(named || at == place{at: start} || at == place{at: v.hybrid}) // a table that is a stream need not name itself
	}
	for of, between := range v.lengths {
		n := natural(v.values[of[0]])
		demand(between[0] <= n && n <= between[1])
	}
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

// add notes where a table says that an object is.
func (v *revision) add(number int, at place) {
	was, twice := v.table[number]
	demand(!twice || was == at && v.hybrid != 0)
	v.table[number] = at
}

// define notes where an object is.
func (v *revision) define(number int, at place) {
	_, twice := v.objects[number]
	demand(!twice)
	v.objects[number] = at
}

// object reads N G obj … endobj. It returns the dictionary of a table that ends the revision.
func (r *reading) object(v *revision, start int64) (trailer map[string]any) {
	number := int(integer(r.next()))
	demand(number > 0 && r.next() == "0")
	v.define(number, place{at: start})
	r.expect("obj")
	value := r.value(maxDepth)
	r.blank()
	dict, _ := value.(map[string]any)
	if !r.word("stream") {
		v.values[number] = value
		r.expect("endobj")
		return nil
	}
	stream := r.stream(v, dict)
	r.expect("endobj")
	switch dict["Type"] {
	default:
		return nil
	case name("ObjStm"):
		v.pack(number, dict, stream)
		return nil
	case name("XRef"):
	}
	demand(v.hybrid == 0)
	v.streamTable(dict, stream)
	r.blank()
	if bytes.HasPrefix(r.text[r.at:], []byte("startxref")) || r.text[r.at] == '%' {
		return dict
	}
	v.hybrid = start
	return nil
}

// pack reads the objects in a stream (ISO 32000-1, 7.5.7).
func (v *revision) pack(number int, dict map[string]any, stream []byte) {
	text, count, first := unpack(dict, stream), natural(dict["N"]), natural(dict["First"])
	demand(count >= 0 && 0 <= first && first <= len(text) && dict["Extends"] == nil)
	head := &reading{text: text[:first]}
	var at [][2]int // the number of each object, and where it begins
	for range count {
		at = append(at, [2]int{int(integer(head.next())), int(integer(head.next()))})
	}
	for i, of := range at {
		end := len(text)
		if i+1 < len(at) {
			end = first + at[i+1][1]
		}
		body := &reading{text: append(bytes.Clone(text[first+of[1]:end]), ' ')}
		v.values[of[0]] = body.value(maxDepth)
		body.blank()
		demand(body.at == len(body.text))
		v.define(of[0], place{int64(i), number})
	}
}

func (r *reading) expect(text string) {
	r.blank()
	demand(r.word(text))
}

// stream reads the bytes of a stream, and what ends it.
func (r *reading) stream(v *revision, dict map[string]any) []byte {
	r.word("\r")
	demand(r.word("\n"))
	from, n := r.at, natural(dict["Length"])
	if object, named := dict["Length"].(ref); named {
		n = bytes.Index(r.text[from:], []byte("endstream"))
		least := len(bytes.TrimRight(r.text[from:from+n], "\r\n"))
		v.lengths[object] = [2]int{least, n}
	}
	demand(n >= 0)
	r.at += n
	stream := r.text[from:r.at]
	r.expect("endstream")
	return stream
}

// table reads entries, each of an object that is there, and the trailer.
func (r *reading) table(v *revision) (trailer map[string]any) {
	for r.blank(); r.text[r.at] >= '0' && r.text[r.at] <= '9'; r.blank() {
		first, count := integer(r.next()), integer(r.next())
		for number := first; number < first+count; number++ {
			at, generation, kind := integer(r.next()), r.next(), r.next()
			if kind == "f" && number == 0 {
				continue // the head of the free ones
			}
			demand(kind == "n" && strings.Trim(generation, "0") == "")
			v.add(int(number), place{at: at})
		}
	}
	r.expect("trailer")
	r.blank()
	return r.dict(maxDepth)
}

// streamTable reads the same from a stream.
func (v *revision) streamTable(dict map[string]any, stream []byte) {
	said := dict["Index"]
	if said == nil {
		said = []any{other("0"), dict["Size"]}
	}
	rows, w, index := unpack(dict, stream), naturals(dict["W"]), naturals(said)
	demand(len(w) == 3 && len(index)%2 == 0)
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
		demand(index[i+1] <= len(v.objects)+1) // else a few bytes would say that there are millions
		for number := index[i]; number < index[i]+index[i+1]; number++ {
			kind, second, third := field(w[0], 1), field(w[1], 0), field(w[2], 0)
			switch {
			case kind == 0 && number == 0:
			case kind == 1 && third == 0:
				v.add(number, place{at: second})
			default:
				demand(kind == 2)
				v.add(number, place{third, int(second)})
			}
		}
	}
}

// maxTable is how large an unpacked table may be.
const maxTable = 16 << 20 // bytes

// unpack undoes the filter of a table, with the rows' differences to the ones above (ISO 32000-1, 7.4.4.4; PNG's up).
func unpack(dict map[string]any, stream []byte) (out []byte) {
	if dict["Filter"] == nil {
		return stream
	}
	filter := fmt.Sprint(dict["Filter"])
	demand(filter == "FlateDecode" || filter == "[FlateDecode]")
	z, err := zlib.NewReader(bytes.NewReader(stream))
	demand(err == nil)
	rows, err := io.ReadAll(io.LimitReader(z, maxTable+1))
	demand(err == nil && len(rows) <= maxTable)
	said := dict["DecodeParms"]
	if list, is := said.([]any); is { // of a filter in a list alone: readers pass over another one
		demand(filter == "[FlateDecode]" && len(list) == 1)
		said = list[0]
	} else {
		demand(said == nil || filter == "FlateDecode")
	}
	if said == nil {
		return rows
	}
	parameters, is := said.(map[string]any)
	predictor, colours, bits := parameters["Predictor"], parameters["Colors"], parameters["BitsPerComponent"]
	demand(is && (colours == nil || colours == other("1")) && (bits == nil || bits == other("8")))
	if predictor == nil || predictor == other("1") {
		return rows
	}
	demand(natural(predictor) >= 10)
	columns := natural(parameters["Columns"])
	demand(0 < columns && columns < len(rows))
	above := make([]byte, columns)
	for n := columns + 1; len(rows) >= n; rows = rows[n:] {
		kind, line := rows[0], bytes.Clone(rows[1:n])
		demand(kind == 0 || kind == 2)
		for i := range line {
			if kind == 2 {
				line[i] += above[i]
			}
		}
		out, above = append(out, line...), line
	}
	return out
}

// natural is a whole number that is not negative, and less than that for anything else.
func natural(v any) int {
	text, _ := v.(other)
	if n, err := strconv.Atoi(string(text)); err == nil {
		return n
	}
	return -1
}

// naturals are the numbers of an array.
func naturals(array any) (all []int) {
	list, _ := array.([]any)
	for _, v := range list {
		n := natural(v)
		demand(n >= 0)
		all = append(all, n)
	}
	return all
}

// integer reads a whole number.
func integer(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	demand(err == nil)
	return n
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

func (r *reading) value(depth int) any {
	r.blank()
	demand(depth > 0)
	switch b := r.text[r.at]; {
	case b == '/':
		r.at++
		return name(r.token())
	case b == '<' && r.text[r.at+1] == '<':
		return r.dict(depth)
	case b == '<':
		from, length := r.at, bytes.IndexByte(r.text[r.at:], '>')+1
		demand(length > 0)
		r.at += length
		return other(r.text[from:r.at])
	case b == '(':
		return r.literal()
	case b == '[':
		r.at++
		list := []any{}
		for r.blank(); !r.word("]"); r.blank() {
			list = append(list, r.value(depth-1))
		}
		return list
	}
	text := r.token()
	demand(text != "")
	// A reference is three tokens.
	if number, err := strconv.Atoi(text); err == nil {
		here := r.at
		generation, err := strconv.Atoi(r.next())
		if err == nil && r.next() == "R" {
			return ref{number, generation}
		}
		r.at = here
	}
	return other(text)
}

func (r *reading) dict(depth int) map[string]any {
	demand(r.word("<<"))
	d := map[string]any{}
	for r.blank(); !r.word(">>"); r.blank() {
		key, isName := r.value(depth - 1).(name)
		_, twice := d[string(key)]
		demand(isName && !twice && !strings.Contains(string(key), "#")) // which is another way to write it
		d[string(key)] = r.value(depth - 1)
	}
	return d
}

func (r *reading) literal() other {
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
				return other(r.text[from:r.at])
			}
		}
	}
}
