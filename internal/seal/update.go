package seal

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// What was added after a seal is parsed by a strict grammar that leaves nothing to a reader's tolerance: if two readers
// could see two documents, it is no valid update. Everything can be written in only one way (ISO 32000-1, 7.2, 7.3 and 7.5).
// Exactly what this parser reads is compared, because the library is far more tolerant.

// updates are the objects in the revisions added to a document, by number: the last version of each.
type updates map[int]types.Object

// place is the position of an object: an offset in the file, or an index in the object stream of that number.
type place struct {
	at     int64
	stream int // 0 if it is in no stream
}

// reading parses what was added after the first base bytes.
type reading struct {
	text []byte
	at   int
	base int64
}

// errLoose means that the update violates the grammar. It is raised as a panic, which readUpdates recovers.
var errLoose = errors.New("the update is not written as strictly as it has to be")

func demand(ok bool) {
	if !ok {
		panic(errLoose)
	}
}

// readUpdates parses the revisions up to the end of a file. before is the offset of the last table before them, root the
// document's catalog, and size its number of objects; no object number may exceed the count.
func readUpdates(text []byte, base, before int64, root types.IndirectRef, size int) (all updates, err error) {
	defer func() {
		if recover() != nil { // including reads past the end
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

// revision is one incremental update.
type revision struct {
	objects map[int]place // where they really are
	values  updates
	lengths map[types.IndirectRef][2]int // of streams whose length is in another object: the minimum and the maximum
	table   map[int]place                // where the tables say they are
	hybrid  int64                        // in a hybrid file, the offset of the stream table; 0 if there is none
	second  types.StreamDict             // that table
}

// revision parses objects, tables and the end marker. It returns the offset of the table, and the number of objects.
func (r *reading) revision(all updates, before int64, root types.IndirectRef, size int) (start int64, counts int) {
	v := &revision{objects: map[int]place{}, values: updates{}, lengths: map[types.IndirectRef][2]int{}, table: map[int]place{}}
	var trailer types.Dict
	for trailer == nil {
		r.comment()
		start = r.base + int64(r.at)
		if r.word("xref") {
			demand(strings.IndexByte(blank, r.text[r.at]) >= 0)
			trailer = r.table(v)
		} else {
			trailer = r.object(v, start)
		}
	}
	demand(trailer["Prev"] == types.Integer(before) && trailer["Root"] == root && trailer["Encrypt"] == nil)
	r.check(v, trailer, start)
	counts = natural(trailer["Size"])
	demand(counts >= size && counts > slices.Max(slices.Collect(maps.Keys(v.table))) && counts <= maxObjects)
	maps.Copy(all, v.values)
	r.comment()
	r.expect("startxref")
	said := integer(r.next())
	demand(r.exact(place{at: said}).at == start)
	r.expect("%%EOF")
	return said, counts
}

// comment skips a comment with the name of a program, between objects.
func (r *reading) comment() {
	r.blank()
	if r.word("%") {
		line, _, _ := bytes.Cut(r.text[r.at:], []byte("\n"))
		demand(!bytes.ContainsAny(line, "%\r") && !bytes.Contains(line, []byte("xref")) && !bytes.Contains(line, []byte("obj")))
		r.at += len(line)
		r.blank()
	}
}

// check demands that the tables list exactly the objects and their real positions, and that streams have their declared
// lengths.
func (r *reading) check(v *revision, trailer types.Dict, start int64) {
	if trailer["XRefStm"] != nil {
		demand(trailer["XRefStm"] == types.Integer(v.hybrid))
		v.streamTable(v.second)
	} else {
		v.hybrid = 0 // no reader uses it
	}
	for number, at := range v.table {
		demand(v.objects[number] == r.exact(at))
	}
	for number, at := range v.objects {
		_, named := v.table[number]
		demand(named || at == place{at: start} || at == place{at: v.hybrid}) // a stream table need not list itself
	}
	for of, between := range v.lengths {
		n := natural(v.values[of.ObjectNumber.Value()])
		demand(of.GenerationNumber == 0 && between[0] <= n && n <= between[1])
	}
}

// exact skips white space before the object: some programs count that in.
func (r *reading) exact(at place) place {
	if at.stream == 0 {
		for i := at.at - r.base; i >= 0 && i < int64(len(r.text)) && strings.IndexByte(blank, r.text[i]) >= 0; i++ {
			at.at++
		}
	}
	return at
}

// add records a table's entry for an object.
func (v *revision) add(number int, at place) {
	was, twice := v.table[number]
	demand(!twice || was == at && v.hybrid != 0)
	v.table[number] = at
}

// define records where an object really is.
func (v *revision) define(number int, at place) {
	_, twice := v.objects[number]
	demand(!twice)
	v.objects[number] = at
}

// object parses N G obj … endobj. If it is a stream table, which ends the revision, it returns its dictionary.
func (r *reading) object(v *revision, start int64) (trailer types.Dict) {
	number := int(integer(r.next()))
	demand(number > 0 && r.next() == "0")
	v.define(number, place{at: start})
	demand(r.next() == "obj")
	value := r.value(maxDepth)
	r.blank()
	dict, isDict := value.(types.Dict)
	if !r.word("stream") {
		v.values[number] = value
		demand(r.next() == "endobj")
		return nil
	}
	demand(isDict)
	stream := types.StreamDict{Dict: dict, Raw: r.stream(v, dict)}
	v.values[number] = stream
	demand(r.next() == "endobj")
	switch dict["Type"] {
	default:
		return nil
	case types.Name("ObjStm"):
		v.pack(number, stream)
		return nil
	case types.Name("XRef"):
	}
	r.blank()
	if bytes.HasPrefix(r.text[r.at:], []byte("startxref")) || r.text[r.at] == '%' {
		v.streamTable(stream)
		return dict
	}
	v.hybrid, v.second = start, stream
	return nil
}

// pack parses the objects in an object stream (ISO 32000-1, 7.5.7).
func (v *revision) pack(number int, stream types.StreamDict) {
	text, count, first := unpack(stream), natural(stream.Dict["N"]), natural(stream.Dict["First"])
	demand(count >= 0 && 0 <= first && first <= len(text) && stream.Dict["Extends"] == nil)
	head := &reading{text: text[:first]}
	var at [][2]int // each object's number and offset
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

// stream reads the bytes of a stream and its end marker.
func (r *reading) stream(v *revision, dict types.Dict) []byte {
	r.word("\r")
	demand(r.word("\n"))
	from, n := r.at, natural(dict["Length"])
	if object, named := dict["Length"].(types.IndirectRef); named {
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

// tableEntry matches an entry of 20 bytes; some readers accept no others.
var tableEntry = regexp.MustCompile(`^(\d{10}) (\d{5}) ([nf])(?: \r| \n|\r\n)`)

// table parses the entries, which must be of existing objects, and the trailer.
func (r *reading) table(v *revision) (trailer types.Dict) {
	for r.blank(); r.text[r.at] >= '0' && r.text[r.at] <= '9'; r.blank() {
		first, count := integer(r.next()), integer(r.next())
		r.blank()
		for number := first; number < first+count; number++ {
			entry := tableEntry.FindSubmatch(r.text[r.at:])
			r.at += len(entry[0])
			if string(entry[3]) == "f" && number == 0 {
				continue // the head of the free list
			}
			demand(string(entry[2]) == "00000" && string(entry[3]) == "n")
			v.add(int(number), place{at: integer(string(entry[1]))})
		}
	}
	r.expect("trailer")
	r.blank()
	return r.dict(maxDepth)
}

// streamTable parses a table stored in a stream.
func (v *revision) streamTable(stream types.StreamDict) {
	said := stream.Dict["Index"]
	if said == nil {
		said = types.Array{types.Integer(0), stream.Dict["Size"]}
	}
	rows, w, index := unpack(stream), naturals(stream.Dict["W"]), naturals(said)
	demand(len(w) == 3 && len(index)%2 == 0)
	field := func(n int, missing int64) (x int64) {
		if n == 0 {
			return missing
		}
		demand(n < 8) // some readers would truncate larger numbers
		for _, b := range rows[:n] {
			x = x<<8 | int64(b)
		}
		rows = rows[n:]
		return x
	}
	for i := 0; i < len(index); i += 2 {
		demand(index[i+1] <= len(v.objects)+1) // otherwise a few bytes could claim millions of entries
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

// maxTable is the maximum size of an uncompressed table, and maxObjects the maximum number of objects in it.
const (
	maxTable   = 16 << 20 // bytes
	maxObjects = 8 << 20  // ISO 32000-1, annex C
)

// unpack decodes a stream, including PNG's "up" predictor (ISO 32000-1, 7.4.4.4).
func unpack(stream types.StreamDict) (out []byte) {
	dict := stream.Dict
	demand(dict["F"] == nil && dict["DP"] == nil) // only some readers accept these short forms of Filter and DecodeParms
	if dict["Filter"] == nil {
		return stream.Raw
	}
	filter, said := dict["Filter"], dict["DecodeParms"]
	filters, is := filter.(types.Array)
	if is && len(filters) == 1 {
		filter = filters[0]
	}
	if list, also := said.(types.Array); also { // only allowed for a single filter in a list: readers ignore it otherwise
		demand(is && len(list) == 1)
		said = list[0]
	} else {
		demand(said == nil || !is)
	}
	demand(filter == types.Name("FlateDecode"))
	z, err := zlib.NewReader(bytes.NewReader(stream.Raw))
	demand(err == nil)
	rows, err := io.ReadAll(io.LimitReader(z, maxTable+1))
	demand(err == nil && len(rows) <= maxTable)
	if said == nil {
		return rows
	}
	parameters, is := said.(types.Dict)
	predictor, colours, bits := parameters["Predictor"], parameters["Colors"], parameters["BitsPerComponent"]
	demand(is && (colours == nil || colours == types.Integer(1)) && (bits == nil || bits == types.Integer(8)))
	if predictor == nil || predictor == types.Integer(1) {
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
	demand(len(rows) == 0) // some readers use what there is of an incomplete row
	return out
}

// natural is a non-negative integer; anything else is negative.
func natural(v types.Object) int {
	if n, is := v.(types.Integer); is {
		return n.Value()
	}
	return -1
}

// naturals are the integers in an array.
func naturals(array types.Object) (all []int) {
	list, _ := array.(types.Array)
	for _, v := range list {
		n := natural(v)
		demand(n >= 0)
		all = append(all, n)
	}
	return all
}

func integer(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 63)
	demand(err == nil)
	return int64(n)
}

func (r *reading) blank() {
	for r.at < len(r.text) && strings.IndexByte(blank, r.text[r.at]) >= 0 {
		r.at++
	}
}

// word skips a word if it is next.
func (r *reading) word(text string) bool {
	if !bytes.HasPrefix(r.text[r.at:], []byte(text)) {
		return false
	}
	r.at += len(text)
	return true
}

// next skips white space and returns the next token.
func (r *reading) next() string {
	r.blank()
	return r.token()
}

// token returns everything up to white space or a delimiter, and skips it.
func (r *reading) token() string {
	from := r.at
	for ; r.at < len(r.text) && strings.IndexByte(blank+"()<>[]{}/%", r.text[r.at]) < 0; r.at++ {
		demand(r.text[r.at] > ' ' && r.text[r.at] <= '~') // some readers treat other characters as white space
	}
	return string(r.text[from:r.at])
}

var (
	plain   = regexp.MustCompile(`^(?:true|false|null|-?(?:\d{1,10}\.?\d*|\.\d+))$`)
	figures = regexp.MustCompile(`^\d{1,10}$`)
)

func (r *reading) value(depth int) types.Object {
	r.blank()
	demand(depth > 0)
	text := ""
	switch b := r.text[r.at]; {
	case b == '/':
		r.at++
		text = "/" + r.token()
	case b == '<' && r.text[r.at+1] == '<':
		return r.dict(depth)
	case b == '<':
		length := bytes.IndexByte(r.text[r.at:], '>') + 1
		text = string(r.text[r.at : r.at+length])
		r.at += length
	case b == '(':
		text = r.literal()
	case b == '[':
		r.at++
		list := types.Array{}
		for r.blank(); !r.word("]"); r.blank() {
			list = append(list, r.value(depth-1))
		}
		return list
	default:
		text = r.token()
		demand(plain.MatchString(text))
		if here := r.at; figures.MatchString(text) { // a reference consists of three tokens
			if generation := r.next(); figures.MatchString(generation) && r.next() == "R" {
				return *types.NewIndirectRef(int(integer(text)), int(integer(generation)))
			}
			r.at = here
		}
	}
	token := text
	value, err := model.ParseObject(&token) // with the same result as elsewhere in the library
	demand(err == nil && token == "" && (value != nil || text == "null"))
	return value
}

func (r *reading) dict(depth int) types.Dict {
	demand(r.word("<<"))
	d := types.Dict{}
	for r.blank(); !r.word(">>"); r.blank() {
		demand(r.word("/"))
		key := r.token()
		_, twice := d[key]
		demand(key != "" && !twice && !strings.Contains(key, "#")) // # is another way to write a name
		d[key] = r.value(depth - 1)
	}
	maps.DeleteFunc(d, func(_ string, value types.Object) bool { return value == nil }) // ISO 32000-1, 7.3.7
	return d
}

func (r *reading) literal() string {
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
				return string(r.text[from:r.at])
			}
		}
	}
}
