package compare

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// data is what a document does that pictures do not show. The keys identify it, the values are for people.
type data struct {
	actions map[string]string // scripts, and anything else that runs, sends or fetches when the document is opened, printed or clicked
	layers  map[string]string // content that is shown only at some times, or only by some programs
	units   []float64         // of each page, in points
}

// readData reads the data of a document; nil if it cannot be parsed.
func readData(document []byte) (d *data) {
	defer func() {
		if recover() != nil { // panicked on an unusual value
			d = nil
		}
	}()
	api.DisableConfigDir()
	conf := model.NewDefaultConfiguration()
	conf.ValidationMode = model.ValidationRelaxed
	ctx, err := pdfcpu.Read(bytes.NewReader(document), conf)
	if err != nil {
		return nil
	}
	root, err := ctx.Catalog()
	if err != nil {
		return nil
	}
	d = &data{actions: map[string]string{}, layers: map[string]string{}}
	for number, entry := range ctx.Table {
		if entry != nil && !entry.Free && entry.Generation != nil {
			o, _ := ctx.Dereference(*types.NewIndirectRef(number, *entry.Generation)) // only this reads objects in object streams
			d.findActions(ctx, o, 0)
		}
	}
	d.findLayers(ctx, root)
	_ = ctx.EnsurePageCount() // without it there are only no units
	form, _ := ctx.DereferenceDict(root["AcroForm"])
	for what, o := range map[string]types.Object{"a form beside the pages": form["XFA"], "documents in place of the pages": root["Collection"]} {
		if o != nil {
			d.layers[what+canon(ctx, o, 0)] = ""
		}
	}
	for i := range min(ctx.PageCount, maxPages) {
		page, _, _, _ := ctx.PageDict(i+1, false)
		unit, err := ctx.DereferenceNumber(page["UserUnit"])
		if err != nil {
			unit = 1
		}
		d.units = append(d.units, unit)
	}
	return d
}

// unit is the unit of a page, if known.
func (d *data) unit(page int) float64 {
	if d == nil || page >= len(d.units) {
		return 1
	}
	return d.units[page]
}

// deepest is the maximum depth to which objects are searched.
const deepest = 12

// findActions finds the actions in an object; objects it refers to are searched on their own. Links are reported with their
// pages.
func (d *data) findActions(ctx *model.Context, o types.Object, depth int) {
	if depth > deepest {
		return
	}
	switch o := o.(type) {
	case types.StreamDict:
		d.findActions(ctx, o.Dict, depth)
	case types.Array:
		for _, x := range o {
			d.findActions(ctx, x, depth+1)
		}
	case types.Dict:
		for _, x := range o {
			d.findActions(ctx, x, depth+1)
		}
		if other := o["Alternates"]; other != nil { // pictures printed instead of this one
			d.layers[canon(ctx, other, 0)] = ""
		}
		kind, _ := ctx.Dereference(o["S"])
		switch name, _ := kind.(types.Name); name {
		case "JavaScript", "Launch", "SubmitForm", "ImportData", "GoToR", "GoToE", "SetOCGState", "Hide", "Rendition", "RichMediaExecute":
			words := canon(ctx, o["JS"], 0)
			if words == "" {
				words = canon(ctx, o["F"], 0)
			}
			d.actions[canon(ctx, o, 0)] = words
		}
	}
}

// findLayers finds the layers and the conditions under which they are shown.
func (d *data) findLayers(ctx *model.Context, root types.Dict) {
	of, _ := ctx.DereferenceDict(root["OCProperties"])
	usual, _ := ctx.DereferenceDict(of["D"])
	groups, _ := ctx.DereferenceArray(of["OCGs"])
	automatic, _ := ctx.DereferenceArray(usual["AS"])
	lists := map[string]types.Object{"ON": usual["ON"], "OFF": usual["OFF"]}
	for _, o := range automatic {
		a, _ := ctx.DereferenceDict(o)
		lists["AS "+canon(ctx, a["Event"], 0)] = a["OCGs"]
	}
	for _, g := range groups {
		key := canon(ctx, g, 0) + " " + canon(ctx, usual["BaseState"], 0)
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			if list, _ := ctx.DereferenceArray(lists[name]); slices.Contains(list, g) {
				key += " " + name
			}
		}
		group, _ := ctx.DereferenceDict(g)
		d.layers[key] = canon(ctx, group["Name"], 0)
	}
}

// canon writes an object in a canonical form that is the same in every file. It includes the objects that it refers to, but
// not its parent.
func canon(ctx *model.Context, o types.Object, depth int) string {
	if depth > deepest {
		return ""
	}
	o, _ = ctx.Dereference(o)
	switch o := o.(type) {
	case nil:
		return ""
	case types.StringLiteral:
		s, _ := types.StringLiteralToString(o)
		return s
	case types.HexLiteral:
		s, _ := types.HexLiteralToString(o)
		return s
	case types.StreamDict:
		if o.Decode() != nil {
			return string(o.Raw)
		}
		return string(o.Content)
	case types.Array:
		var parts []string
		for _, x := range o {
			parts = append(parts, canon(ctx, x, depth+1))
		}
		return fmt.Sprintf("%q", parts)
	case types.Dict:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(o)) {
			x, _ := ctx.Dereference(o[key])
			_, far := x.(types.Dict)
			if far && slices.Contains([]string{"P", "Parent", "Next", "AN", "D", "AP"}, key) || key == "Kids" || key == "Annots" {
				continue
			}
			parts = append(parts, key+" "+canon(ctx, x, depth+1))
		}
		return fmt.Sprintf("%q", parts)
	default:
		return o.PDFString()
	}
}

// compareData finds what a document does that the one sent did not.
func compareData(sent, back *data) (places []Place) {
	if sent == nil || back == nil { // unknown
		return []Place{{Kind: KindRemade, Page: 1, Back: 1}}
	}
	find := func(was, now map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if _, there := was[key]; !there {
				places = append(places, Place{Kind: KindDoes, Page: 1, Back: 1, Now: short(strings.ToValidUTF8(now[key], ""))})
			}
		}
	}
	find(sent.actions, back.actions)
	find(sent.layers, back.layers)
	return places
}
