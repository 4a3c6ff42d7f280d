package seal

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// maxCompared is how large a file may be whose revisions are compared: both are held in memory.
const maxCompared = 64 << 20 // bytes

const blank = "\x00\t\n\f\r " // ISO 32000-1, 7.2.2

// added says what a file has behind the first end bytes. The document as it was then is read and compared with the one that a
// reader shows now.
func added(file io.ReaderAt, end, size int64) (Addition, error) {
	if size > maxCompared {
		return AddedUnjudged, nil
	}
	all, err := window(file, size, 0, size, nil)
	if err != nil {
		return AddedUnjudged, err
	}
	update := all[end:]
	if len(bytes.Trim(update, blank)) == 0 {
		return AddedNothing, nil
	}
	before, err := readPDF(all[:end])
	if err != nil {
		return AddedUnjudged, nil
	}
	now, err := readPDF(all)
	if err != nil {
		return AddedChange, nil // a reader that repairs it may show anything
	}
	c := comparison{before: before, now: now, seen: map[[2]int]bool{}}
	if c.unseen(update, end) || !c.same(*before.Root, *now.Root) {
		return AddedChange, nil
	}
	return AddedProof, nil
}

var noConfigDir = sync.OnceFunc(api.DisableConfigDir)

// readPDF reads a PDF as it is; one that opens with a password alone is not read.
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

// comparison holds a document as it was signed against the one that a reader shows now.
type comparison struct {
	before, now *model.Context
	seen        map[[2]int]bool // pairs of objects that are compared, or are being compared; one difference ends it all
}

var objectHead = regexp.MustCompile(`(?:^|[^0-9])(\d{1,10})[\s\x00]+\d{1,5}[\s\x00]+obj\b`)

// unseen reports whether the update has an object that was there before, whose last state is in another place than where the library
// found it: a reader that repairs the file may show that one.
func (c *comparison) unseen(update []byte, base int64) bool {
	last := map[int]int64{}
	for _, m := range objectHead.FindAllSubmatchIndex(update, -1) {
		number, err := strconv.Atoi(string(update[m[2]:m[3]]))
		if err != nil {
			return true
		}
		last[number] = base + int64(m[2])
	}
	for number, at := range last {
		if old, was := c.before.Find(number); !was || old.Free {
			continue
		}
		entry, is := c.now.Find(number)
		if !is || entry.Compressed || entry.Offset == nil || *entry.Offset < base || *entry.Offset > at ||
			len(bytes.Trim(update[*entry.Offset-base:at-base], blank)) > 0 {
			return true
		}
	}
	return false
}

// What may change: what proves signatures for longer (ETSI EN 319 142-1, 5.4.2), and what nobody sees.
var (
	mayChange       = map[types.Object]map[string]bool{types.Name("Catalog"): {"DSS": true, "Extensions": true, "Version": true, "Metadata": true}}
	formMayChange   = map[string]bool{"SigFlags": true}
	streamMayChange = map[string]bool{"Length": true} // the library fills it in; the bytes are compared themselves
)

func (c *comparison) sameForm(before, now types.Object) bool {
	is, ok := now.(types.Dict)
	if !ok {
		return before == nil && now == nil
	}
	was, _ := before.(types.Dict) // there may have been no form
	return c.sameDict(was, is, formMayChange, func(key string) (special, same bool) {
		switch key {
		case "Fields":
			return true, c.onlyStampsMore(was[key], is[key])
		case "DR":
			return true, c.onlyFontsMore(was[key], is[key])
		case "DA":
			return was[key] == nil, true
		}
		return false, false
	})
}

// onlyFontsMore reports whether the resources of a form are what they were, but for fonts that every reader has: others could make a
// figure look like another one.
func (c *comparison) onlyFontsMore(before, now types.Object) bool {
	was, _ := c.old(before).(types.Dict)
	is, ok := c.new(now).(types.Dict)
	if !ok {
		return before == nil && now == nil
	}
	return c.sameDict(was, is, nil, func(key string) (special, same bool) {
		if key != "Font" {
			return false, false
		}
		had, _ := c.old(was[key]).(types.Dict)
		has, _ := c.new(is[key]).(types.Dict)
		return true, c.sameDict(had, has, nil, func(name string) (special, same bool) { return had[name] == nil, c.isPlainFont(has[name]) })
	})
}

func (c *comparison) isPlainFont(o types.Object) bool {
	font, ok := c.new(o).(types.Dict)
	_, ownNames := c.new(font["Encoding"]).(types.Dict)
	return ok && !ownNames && font["Subtype"] == types.Name("Type1") && font["FontDescriptor"] == nil && font["ToUnicode"] == nil
}

// onlyStampsMore reports whether a list, of fields or of a page's annotations, is as it was but for fields of time stamps that nobody
// sees.
func (c *comparison) onlyStampsMore(before, now types.Object) bool {
	was, _ := c.old(before).(types.Array)
	is, ok := c.new(now).(types.Array)
	if !ok {
		return before == nil && now == nil
	}
	for _, one := range is {
		switch {
		case len(was) > 0 && sameReference(was[0], one):
			if !c.same(was[0], one) {
				return false
			}
			was = was[1:]
		case !c.isStampField(one):
			return false
		}
	}
	return len(was) == 0
}

func sameReference(before, now types.Object) bool {
	was, ok := before.(types.IndirectRef)
	is, also := now.(types.IndirectRef)
	return ok && also && was == is
}

func (c *comparison) isStampField(o types.Object) bool {
	field, ok := c.new(o).(types.Dict)
	if !ok {
		return false
	}
	value, ok := c.new(field["V"]).(types.Dict)
	if !ok || c.new(value["SubFilter"]) != types.Name("ETSI.RFC3161") || field["Kids"] != nil || field["AA"] != nil || field["A"] != nil {
		return false
	}
	if field["Rect"] == nil {
		return field["AP"] == nil
	}
	rect, ok := c.new(field["Rect"]).(types.Array)
	if !ok || len(rect) != 4 {
		return false
	}
	return number(c.new(rect[0])) == number(c.new(rect[2])) || number(c.new(rect[1])) == number(c.new(rect[3]))
}

func number(o types.Object) float64 {
	switch n := o.(type) {
	case types.Integer:
		return float64(n)
	case types.Float:
		return float64(n)
	}
	return 0
}

// old and new follow references to what they stand for.
func (c *comparison) old(o types.Object) types.Object { return follow(c.before, o) }
func (c *comparison) new(o types.Object) types.Object { return follow(c.now, o) }

func follow(ctx *model.Context, o types.Object) types.Object {
	o, err := ctx.Dereference(o)
	if err != nil {
		return nil // as a reader takes it
	}
	return o
}

// same reports whether what o was and what it is look the same to a reader.
func (c *comparison) same(before, now types.Object) bool {
	if was, ok := before.(types.IndirectRef); ok {
		is, ok := now.(types.IndirectRef)
		if !ok {
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
		return ok && c.sameDict(was, is, mayChange[is["Type"]], func(key string) (special, same bool) {
			switch {
			case key == "Annots" && is["Type"] == types.Name("Page"):
				return true, c.onlyStampsMore(was[key], is[key])
			case key == "AcroForm" && is["Type"] == types.Name("Catalog"):
				return true, c.sameForm(c.old(was[key]), c.new(is[key]))
			}
			return false, false
		})
	case types.StreamDict:
		is, ok := now.(types.StreamDict)
		return ok && bytes.Equal(was.Raw, is.Raw) && c.sameDict(was.Dict, is.Dict, streamMayChange, none)
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

// sameDict compares two dictionaries but for the entries that may change, and those that special compares in a way of their own.
func (c *comparison) sameDict(was, is types.Dict, mayChange map[string]bool, special func(key string) (special, same bool)) bool {
	keys := maps.Clone(was)
	if keys == nil {
		keys = types.Dict{}
	}
	maps.Copy(keys, is)
	for key := range keys {
		if mayChange[key] {
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
