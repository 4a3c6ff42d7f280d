package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// The manipulations that tests make, with a different library from the one that compares.

func config() *model.Configuration {
	api.DisableConfigDir()
	c := model.NewDefaultConfiguration()
	c.ValidationMode = model.ValidationRelaxed
	c.Optimize, c.OptimizeBeforeWriting = false, false
	return c
}

// edit rewrites a document with a page changed by do.
func edit(document []byte, number int, do func(ctx *model.Context, page types.Dict, inherited *model.InheritedPageAttrs) error) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	ctx, err := pdfcpu.Read(bytes.NewReader(document), config())
	if err != nil {
		return nil, err
	}
	if err := ctx.EnsurePageCount(); err != nil {
		return nil, err
	}
	page, _, inherited, err := ctx.PageDict(number, false)
	if err != nil {
		return nil, err
	}
	if err := do(ctx, page, inherited); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = api.WriteContext(ctx, &b)
	return b.Bytes(), err
}

func newStream(ctx *model.Context, content string) (types.IndirectRef, error) {
	s, err := ctx.NewStreamDictForBuf([]byte(content))
	if err != nil {
		return types.IndirectRef{}, err
	}
	if err := s.Encode(); err != nil {
		return types.IndirectRef{}, err
	}
	ref, err := ctx.IndRefForNewObject(*s)
	if err != nil {
		return types.IndirectRef{}, err
	}
	return *ref, nil
}

// overlay draws over a page. /Fx is Helvetica.
func overlay(document []byte, number int, ops string) ([]byte, error) {
	return edit(document, number, func(ctx *model.Context, page types.Dict, inherited *model.InheritedPageAttrs) error {
		before, err := newStream(ctx, "q\n")
		if err != nil {
			return err
		}
		after, err := newStream(ctx, "\nQ\nq\n"+ops+"\nQ\n")
		if err != nil {
			return err
		}
		contents := types.Array{before}
		if old, ok := page["Contents"]; ok {
			if list, err := ctx.DereferenceArray(old); err == nil && list != nil {
				contents = append(contents, list...)
			} else {
				contents = append(contents, old)
			}
		}
		page["Contents"] = append(contents, after)
		resources := types.Dict{}
		if own, err := ctx.DereferenceDict(page["Resources"]); err == nil && own != nil {
			resources = own.Clone().(types.Dict)
		} else if inherited != nil && inherited.Resources != nil {
			resources = inherited.Resources.Clone().(types.Dict)
		}
		fonts := types.Dict{}
		if own, err := ctx.DereferenceDict(resources["Font"]); err == nil && own != nil {
			fonts = own.Clone().(types.Dict)
		}
		fonts["Fx"] = types.Dict{"Type": types.Name("Font"), "Subtype": types.Name("Type1"), "BaseFont": types.Name("Helvetica"), "Encoding": types.Name("WinAnsiEncoding")}
		resources["Font"] = fonts
		page["Resources"] = resources
		return nil
	})
}

// stamp puts a stamp with a text over a page.
func stamp(document []byte, number int, x, y float64, text string) ([]byte, error) {
	return edit(document, number, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		s, err := ctx.NewStreamDictForBuf([]byte("BT /Fx 12 Tf 2 4 Td (" + text + ") Tj ET"))
		if err != nil {
			return err
		}
		s.Dict["Type"], s.Dict["Subtype"], s.Dict["BBox"] = types.Name("XObject"), types.Name("Form"), types.NewNumberArray(0, 0, 80, 16)
		s.Dict["Resources"] = types.Dict{"Font": types.Dict{"Fx": types.Dict{"Type": types.Name("Font"), "Subtype": types.Name("Type1"), "BaseFont": types.Name("Helvetica")}}}
		if err := s.Encode(); err != nil {
			return err
		}
		look, err := ctx.IndRefForNewObject(*s)
		if err != nil {
			return err
		}
		ref, err := ctx.IndRefForNewObject(types.Dict{"Type": types.Name("Annot"), "Subtype": types.Name("Stamp"), "F": types.Integer(4),
			"Contents": types.StringLiteral(text), "Rect": types.NewNumberArray(x, y, x+80, y+16), "AP": types.Dict{"N": *look}})
		if err != nil {
			return err
		}
		list, _ := ctx.DereferenceArray(page["Annots"])
		page["Annots"] = append(slices.Clone(list), *ref)
		return nil
	})
}

// layer draws over the first page, in a layer that is off or only printed.
func layer(document []byte, ops string, off bool) ([]byte, error) {
	b, err := overlay(document, 1, "/OC /Lx BDC "+ops+" EMC")
	if err != nil {
		return nil, err
	}
	return edit(b, 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		ref, err := ctx.IndRefForNewObject(types.Dict{"Type": types.Name("OCG"), "Name": types.StringLiteral("L"), "Usage": types.Dict{
			"Print": types.Dict{"PrintState": types.Name("ON")}, "View": types.Dict{"ViewState": types.Name("OFF")}}})
		if err != nil {
			return err
		}
		resources, err := ctx.DereferenceDict(page["Resources"])
		if err != nil {
			return err
		}
		resources["Properties"] = types.Dict{"Lx": *ref}
		root, err := ctx.Catalog()
		if err != nil {
			return err
		}
		groups, automatic := types.Array{*ref}, types.Array{}
		for _, event := range []types.Name{"Print", "View"} {
			automatic = append(automatic, types.Dict{"Event": event, "OCGs": groups, "Category": types.Array{event}})
		}
		usual := types.Dict{"AS": automatic}
		if off {
			usual = types.Dict{"OFF": groups}
		}
		root["OCProperties"] = types.Dict{"OCGs": groups, "D": usual}
		return nil
	})
}

// annotated puts an annotation over the price.
func annotated(document []byte, more types.Dict) ([]byte, error) {
	return edit(document, 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		look, err := newStream(ctx, "1 g 0 0 80 16 re f")
		if err != nil {
			return err
		}
		drawn, _, err := ctx.DereferenceStreamDict(look)
		if err != nil {
			return err
		}
		drawn.Dict["Subtype"], drawn.Dict["BBox"] = types.Name("Form"), types.NewNumberArray(0, 0, 80, 16)
		d := types.Dict{"Type": types.Name("Annot"), "Rect": types.NewNumberArray(148, 748, 228, 764), "AP": types.Dict{"N": look}}
		maps.Copy(d, more)
		ref, err := ctx.IndRefForNewObject(d)
		if err != nil {
			return err
		}
		page["Annots"] = types.Array{*ref}
		root, err := ctx.Catalog()
		if more["Subtype"] == types.Name("Widget") {
			root["AcroForm"] = types.Dict{"Fields": types.Array{*ref}}
		}
		return err
	})
}

// shifted moves everything on the first page to the right, scaled by scale.
func shifted(document []byte, scale, by float64) ([]byte, error) {
	return edit(document, 1, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		content, err := ctx.PageContent(page, 1)
		if err != nil {
			return err
		}
		ref, err := newStream(ctx, fmt.Sprintf("q %.4f 0 0 %.4f %.2f 0 cm\n%s\nQ\n", scale, scale, by, content))
		page["Contents"] = ref
		return err
	})
}

var (
	errNothing = errors.New("there is nothing to change")
	shown      = regexp.MustCompile(`\((?:[^()\\]|\\.)*\)|<[0-9A-Fa-f\s]{4,}>`)
	digit      = regexp.MustCompile(`[0-9]`)
	lower      = regexp.MustCompile(`[a-z]`)
)

// retype changes one character of a page's drawn text: a digit, a letter or, if the text uses codes, one code to another of
// the same text. which selects the character.
func retype(document []byte, number int, digits bool, which int) ([]byte, error) {
	return edit(document, number, func(ctx *model.Context, page types.Dict, _ *model.InheritedPageAttrs) error {
		content, err := ctx.PageContent(page, number)
		if err != nil {
			return err
		}
		class := lower
		if digits {
			class = digit
		}
		type place struct {
			at int
			by string
		}
		var places []place
		for _, m := range shown.FindAllIndex(content, -1) {
			s := content[m[0]:m[1]]
			if s[0] == '(' && !bytes.ContainsRune(s, '\\') {
				for _, d := range class.FindAllIndex(s, -1) {
					c := s[d[0]]
					next := c + 1
					if c == '9' || c == 'z' {
						next = c - 1
					}
					places = append(places, place{m[0] + d[0], string(next)})
				}
			}
			if s[0] == '<' && !digits {
				codes := strings.Fields(strings.Trim(string(s), "<>"))
				if len(codes) == 1 && len(codes[0])%4 == 0 && len(codes[0]) >= 8 {
					for i := 4; i < len(codes[0]); i += 4 {
						if codes[0][i:i+4] != codes[0][i-4:i] && s[1] != ' ' {
							places = append(places, place{m[0] + 1 + i, codes[0][i-4 : i]})
						}
					}
				}
			}
		}
		if len(places) == 0 {
			return errNothing
		}
		p := places[which%len(places)]
		copy(content[p.at:], p.by)
		ref, err := newStream(ctx, string(content))
		page["Contents"] = ref
		return err
	})
}

// pages makes a document of some pages of a document, in that order.
func pages(document []byte, numbers ...int) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	var b bytes.Buffer
	err = api.Collect(bytes.NewReader(document), &b, strings.Split(strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]"), ","), config())
	return b.Bytes(), err
}

// joined combines several documents into one.
func joined(documents ...[]byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	var in []io.ReadSeeker
	for _, d := range documents {
		in = append(in, bytes.NewReader(d))
	}
	var b bytes.Buffer
	err = api.MergeRaw(in, &b, false, config())
	return b.Bytes(), err
}
