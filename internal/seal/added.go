package seal

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// maxCompared is the maximum size of a file whose revisions are compared: both are held in memory.
const maxCompared = 64 << 20 // bytes

const blank = "\x00\t\n\f\r " // ISO 32000-1, 7.2.2

// whole is a file with all its revisions. Its bytes are read only when a comparison needs them.
type whole struct {
	file io.ReaderAt
	size int64
	read func() ([]byte, error)
}

func wholeOf(file io.ReaderAt, size int64) whole {
	return whole{file, size, sync.OnceValues(func() ([]byte, error) { return window(file, size, 0, size, nil) })}
}

// added classifies what follows the first end bytes of the file. It compares the document as it was then with the same
// document plus the added objects.
func (w whole) added(end int64) (what Addition, allows Allowance, err error) {
	if only, err := onlyBlank(w.file, end, w.size); err != nil || only {
		return AddedNothing, 0, err
	}
	if w.size > maxCompared {
		return AddedUnjudged, 0, nil
	}
	defer func() {
		if recover() != nil { // panicked on an unusual value
			what = AddedChange
		}
	}()
	all, err := w.read()
	if err != nil {
		return AddedUnjudged, 0, err
	}
	before, err := readPDF(all[:end])
	if err != nil {
		return AddedUnjudged, 0, nil
	}
	c := comparison{before: before}
	if c.added, err = readUpdates(all[end:], end, lastTable(all[:end]), *before.Root, *before.Size); err != nil {
		return AddedChange, AllowsUnsaid, nil // readers may show anything
	}
	allows = allowance(before, end)
	for _, what := range []Addition{AddedProof, AddedSigned, AddedFilled, AddedNotes} {
		c.passes, c.seen, c.read = what, map[[2]int]bool{}, map[int]bool{}
		if (what == AddedProof || what == AddedSigned && allows == AllowsUnsaid || allows >= AllowsFilling) && c.sameRoot() && c.readAll() {
			return what, allows, nil
		}
	}
	return AddedChange, allows, nil
}

// allowance is what the seal that covers exactly the document ctx, the first end bytes, allows others to do to it.
func allowance(ctx *model.Context, end int64) (allows Allowance) {
	dict := func(o types.Object) types.Dict { d, _ := follow(ctx, o).(types.Dict); return d }
	seal := dict(dict(dict(*ctx.Root)["Perms"])["DocMDP"])
	covers, _ := follow(ctx, seal["ByteRange"]).(types.Array)
	if len(covers) != 4 || number(follow(ctx, covers[2]))+number(follow(ctx, covers[3])) != float64(end) {
		return AllowsUnsaid // the certifying seal covers an earlier document, or there is none
	}
	references, _ := follow(ctx, seal["Reference"]).(types.Array)
	for _, o := range references {
		switch d := dict(o); follow(ctx, d["TransformMethod"]) {
		case types.Name("FieldMDP"): // it locks some fields (12.8.2.4); which is not read
			return AllowsUnsaid
		case types.Name("DocMDP"):
			if allows = Allowance(number(follow(ctx, dict(d["TransformParams"])["P"]))); allows < AllowsNothing || allows > AllowsNotes {
				allows = AllowsFilling // the default
			}
		}
	}
	return allows
}

// revocations passes on the CRLs and OCSP responses in a file's security store (ETSI EN 319 142-1, 5.4.2), as far as they can
// be read.
func (w whole) revocations(keep func([]byte)) {
	defer func() { _ = recover() }() // an unusual value
	if w.size > maxCompared {
		return
	}
	all, err := w.read()
	if err != nil {
		return
	}
	ctx, err := readPDF(all)
	if err != nil {
		return
	}
	root, _ := follow(ctx, *ctx.Root).(types.Dict)
	dss, _ := follow(ctx, root["DSS"]).(types.Dict)
	for _, key := range []string{"CRLs", "OCSPs"} {
		list, _ := follow(ctx, dss[key]).(types.Array)
		for _, o := range list {
			if word, ok := follow(ctx, o).(types.StreamDict); ok && word.Decode() == nil {
				keep(word.Content)
			}
		}
	}
}

// onlyBlank reports whether there is only white space from start on.
func onlyBlank(file io.ReaderAt, start, size int64) (bool, error) {
	buffer := make([]byte, 1<<20)
	for ; start < size; start += int64(len(buffer)) {
		part, err := window(file, size, start, start+int64(len(buffer)), buffer)
		if err != nil || len(bytes.Trim(part, blank)) > 0 {
			return false, err
		}
	}
	return true, nil
}

// lastTable is the offset of the cross-reference table according to the end of a PDF; -1 if it is missing.
func lastTable(pdf []byte) int64 {
	m := tableAt.FindSubmatch(pdf)
	if m == nil {
		return -1
	}
	at, _ := strconv.ParseInt(string(m[1]), 10, 64) // at most 18 digits
	return at
}

var tableAt = regexp.MustCompile(`startxref[\s\x00]+(\d{1,18})[\s\x00]+%%EOF[\s\x00]*$`)

var noConfigDir = sync.OnceFunc(api.DisableConfigDir)

// readPDF parses a PDF without changing it; it does not read one that needs a password.
func readPDF(file []byte) (ctx *model.Context, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the PDF library gave up: %v", p)
		}
	}()
	noConfigDir()
	conf := model.NewDefaultConfiguration()
	conf.ValidationMode = model.ValidationRelaxed
	if ctx, err = pdfcpu.Read(bytes.NewReader(file), conf); err != nil {
		return nil, err
	}
	if ctx.Encrypt != nil || ctx.Root == nil {
		return nil, pdfcpu.ErrEncrypted
	}
	return ctx, nil
}

// comparison compares a document as it was signed with the same document plus the added objects.
type comparison struct {
	before *model.Context
	added  updates
	passes Addition        // the kind of additions to accept
	seen   map[[2]int]bool // pairs of objects already compared or being compared; one difference ends the comparison
	read   map[int]bool    // objects that were compared
}

// readAll reports whether all objects that replaced others were compared, or may change: otherwise the library may not have
// followed the references to them.
func (c *comparison) readAll() bool {
	if c.passes == AddedNotes {
		return true
	}
	if c.before.Info != nil {
		c.pass(*c.before.Info)
	}
	for number := range c.added {
		if was, is := c.before.Table[number]; is && !was.Free && !c.read[number] {
			return false
		}
	}
	return true
}

// pass marks the objects in something that may change as compared.
func (c *comparison) pass(o types.Object) {
	if at, is := o.(types.IndirectRef); is {
		if c.read[at.ObjectNumber.Value()] {
			return
		}
		c.read[at.ObjectNumber.Value()] = true
	}
	switch was := c.old(o).(type) {
	case types.Dict:
		for _, value := range was {
			c.pass(value)
		}
	case types.StreamDict:
		c.pass(was.Dict)
	case types.Array:
		for _, value := range was {
			c.pass(value)
		}
	}
}

// What may change: proof that extends a signature's validity (ETSI EN 319 142-1, 5.4.2), and what nobody sees.
var (
	rootMayChange  = map[string]bool{"DSS": true, "Extensions": true, "Version": true, "Metadata": true}
	formMayChange  = map[string]bool{"SigFlags": true}
	fieldMayChange = map[string]bool{"V": true, "AP": true, "AS": true, "M": true} // of a filled field: its appearance stays within its frame
)

// sameRoot compares the catalogs, and with them everything that is shown.
func (c *comparison) sameRoot() bool {
	was, ok := c.old(*c.before.Root).(types.Dict)
	is, also := c.new(*c.before.Root).(types.Dict)
	if !ok || !also {
		return false
	}
	c.seen[[2]int{c.before.Root.ObjectNumber.Value(), c.before.Root.ObjectNumber.Value()}] = true // for references back to the catalog
	return c.sameDict(was, is, rootMayChange, func(key string) (special, same bool) {
		if key != "AcroForm" {
			return false, false
		}
		return true, c.sameForm(c.old(was[key]), c.new(is[key]))
	})
}

func (c *comparison) sameForm(before, now types.Object) bool {
	is, ok := now.(types.Dict)
	if !ok {
		return before == nil && now == nil
	}
	was, _ := before.(types.Dict) // there may have been no form
	if c.passes == AddedNotes {
		return was["XFA"] == nil && is["XFA"] == nil
	}
	return c.sameDict(was, is, formMayChange, func(key string) (special, same bool) {
		switch key {
		case "Fields":
			return true, c.onlyStampsMore(was[key], is[key])
		case "DR", "DA":
			return c.onlySignatures(was["Fields"]), true
		}
		return false, false
	})
}

// onlySignatures reports whether all fields of a form are signatures, which do not use its fonts.
func (c *comparison) onlySignatures(fields types.Object) bool {
	list, _ := c.old(fields).(types.Array)
	for _, one := range list {
		field, ok := c.old(one).(types.Dict)
		if !ok || c.old(field["FT"]) != types.Name("Sig") || field["Kids"] != nil {
			return false
		}
	}
	return true
}

// onlyStampsMore reports whether a list of fields or of a page's annotations has changed only by invisible fields with time
// stamps, or with signatures where those pass.
func (c *comparison) onlyStampsMore(before, now types.Object) bool {
	was, _ := c.old(before).(types.Array)
	is, ok := c.new(now).(types.Array)
	if !ok {
		return before == nil && now == nil
	}
	for _, one := range is {
		switch {
		case len(was) > 0 && sameEntry(was[0], one):
			if !c.same(was[0], one) {
				return false
			}
			was = was[1:]
		case !c.isSignature(one):
			return false
		}
	}
	return len(was) == 0
}

// isEmptyField reports whether an object is a form field that nobody has filled in.
func (c *comparison) isEmptyField(field types.Dict) bool {
	const readOnly, pushButton = 1, 1 << 16
	flags := int(number(c.old(field["Ff"])))
	return c.old(field["Subtype"]) == types.Name("Widget") && c.old(field["FT"]) != nil && flags&(readOnly|pushButton) == 0 &&
		slices.Contains([]types.Object{nil, types.Name("Off"), types.StringLiteral(""), types.HexLiteral("")}, c.old(field["V"]))
}

// sameEntry reports whether two entries of a list are the same reference, or are both direct objects.
func sameEntry(before, now types.Object) bool {
	was, ok := before.(types.IndirectRef)
	is, also := now.(types.IndirectRef)
	return ok == also && (!ok || was == is)
}

// isSignature reports whether an object is an invisible field with a time stamp, or any signature if that passes.
func (c *comparison) isSignature(o types.Object) bool {
	field, ok := c.new(o).(types.Dict)
	if !ok || c.new(field["FT"]) != types.Name("Sig") || c.new(field["Subtype"]) != types.Name("Widget") {
		return false
	}
	for key := range field {
		switch key {
		case "Type", "Subtype", "FT", "T", "F", "V", "P", "Rect", "Ff":
		case "AP":
			if !c.drawsNothing(field[key]) {
				return false
			}
		case "DR":
			if d, ok := c.new(field[key]).(types.Dict); !ok || len(d) > 0 {
				return false
			}
		default:
			return false
		}
	}
	value, ok := c.new(field["V"]).(types.Dict)
	if !ok || c.passes == AddedProof && c.new(value["SubFilter"]) != types.Name(stampMethod) {
		return false
	}
	rect, ok := c.new(field["Rect"]).(types.Array)
	if !ok || len(rect) != 4 {
		return false
	}
	return number(c.new(rect[0])) == number(c.new(rect[2])) && number(c.new(rect[1])) == number(c.new(rect[3]))
}

func (c *comparison) drawsNothing(appearance types.Object) bool {
	ap, ok := c.new(appearance).(types.Dict)
	if !ok {
		return false
	}
	for key := range ap {
		stream, ok := c.new(ap[key]).(types.StreamDict)
		if !ok || len(bytes.Trim(unpack(stream), blank)) > 0 {
			return false
		}
	}
	return true
}

// old and new resolve references in the respective document.
func (c *comparison) old(o types.Object) types.Object { return follow(c.before, o) }
func (c *comparison) new(o types.Object) types.Object {
	at, is := o.(types.IndirectRef)
	if !is {
		return o
	}
	c.read[at.ObjectNumber.Value()] = true
	value, added := c.added[at.ObjectNumber.Value()]
	if !added {
		return follow(c.before, o)
	}
	_, again := value.(types.IndirectRef)
	demand(!again && at.GenerationNumber == 0)
	return value
}

func follow(ctx *model.Context, o types.Object) types.Object {
	o, err := ctx.Dereference(o)
	if err != nil {
		return nil // as readers treat it
	}
	return o
}

// same reports whether readers show both objects alike.
func (c *comparison) same(before, now types.Object) bool {
	if was, ok := before.(types.IndirectRef); ok {
		is, ok := now.(types.IndirectRef)
		if !ok || was.GenerationNumber != is.GenerationNumber {
			return false
		}
		pair := [2]int{was.ObjectNumber.Value(), is.ObjectNumber.Value()}
		if c.seen[pair] {
			return true
		}
		c.seen[pair] = true
		return c.same(c.old(was), c.new(is))
	}
	switch was := before.(type) {
	case types.Dict:
		is, ok := now.(types.Dict)
		if !ok {
			return false
		}
		page := was["Type"] == types.Name("Page") && is["Type"] == types.Name("Page")
		var mayChange map[string]bool
		if (c.passes == AddedFilled || c.passes == AddedNotes) && c.isEmptyField(was) {
			mayChange = fieldMayChange
		}
		return c.sameDict(was, is, mayChange, func(key string) (special, same bool) {
			if !page || key != "Annots" {
				return false, false
			}
			return true, c.passes == AddedNotes || c.onlyStampsMore(was[key], is[key])
		})
	case types.StreamDict:
		is, ok := now.(types.StreamDict)
		return ok && bytes.Equal(was.Raw, is.Raw) && c.sameDict(was.Dict, is.Dict, nil, none)
	case types.Array:
		is, ok := now.(types.Array)
		if !ok || len(was) != len(is) {
			return false
		}
		for i := range was {
			if !c.same(was[i], is[i]) {
				return false
			}
		}
		return true
	}
	return before == now
}

// sameDict compares two dictionaries, except for entries that may change and those that special compares itself.
func (c *comparison) sameDict(was, is types.Dict, mayChange map[string]bool, special func(key string) (special, same bool)) bool {
	keys := maps.Clone(was)
	if keys == nil {
		keys = types.Dict{}
	}
	maps.Copy(keys, is)
	for key := range keys {
		if mayChange[key] {
			c.pass(was[key])
			continue
		}
		isSpecial, same := special(key)
		if !isSpecial {
			same = (was[key] == nil) == (is[key] == nil) && c.same(was[key], is[key])
		}
		if !same {
			return false
		}
	}
	return true
}

func none(string) (special, same bool) { return false, false }

func number(o types.Object) float64 {
	switch n := o.(type) {
	case types.Integer:
		return float64(n)
	case types.Float:
		return float64(n)
	}
	return 0
}
