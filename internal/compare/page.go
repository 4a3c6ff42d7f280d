package compare

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium/enums"
)

// How pictures are made and compared.
const (
	dpi       = 100
	maxPixels = 3 << 20 // of a picture: a larger page is rendered in strips
	maxStrips = 8       // of a page: a larger one is rendered at a lower resolution
	overlap   = 100     // pixels by which a strip overlaps the previous one
	differs   = 3       // of 255: smaller differences are ignored. Files that were merely rewritten do not differ at all
	faint     = 8       // minimum contrast that is visible
	edge      = 24      // contrast of two adjacent pixels that form an edge
	ruled     = 40      // this many equal pixels in a row are a line or background, not a letter
	tallest   = 300     // pixels of a letter: broken fonts have larger ones, over half a page
	tile      = 8       // pixels: differences closer than this are reported as one place
	samePoint = 0.5     // points by which page sizes may differ
)

func comparePages(sent, back sheet) (places []Place) {
	if math.Abs(sent.w-back.w) > samePoint || math.Abs(sent.h-back.h) > samePoint || sent.unit != back.unit {
		return []Place{{Kind: KindSize, Was: short(sent.text), Now: short(back.text)}}
	}
	a := sent.document.open(sent.index)
	defer a.close()
	b := back.document.open(back.index)
	defer b.close()
	scale := dpi / 72.0
	if pixels := sent.w * sent.h * scale * scale; pixels > maxStrips*maxPixels {
		scale *= math.Sqrt(maxStrips * maxPixels / pixels)
		places = []Place{{Kind: KindRemade}} // small details are not resolved
	}
	w, h := max(1, int(math.Round(sent.w*scale))), max(1, int(math.Round(sent.h*scale)))
	high := max(maxPixels/w, 2*overlap)
	for top := 0; top == 0 || top+overlap < h; top += high - overlap {
		places = append(places, compareStrips(a, b, sent, back, strip{w, top, min(high, h-top), h})...)
	}
	return places
}

func compareStrips(a, b *page, sent, back sheet, s strip) []Place {
	c := comparison{strip: s}
	c.look(a, b, false)
	places := c.compare(a, b, sent, back)
	if s.top == 0 {
		places = append(c.compareNotes(c.before, c.after), places...)
	}
	if len(c.before)+len(c.after) == 0 && !sent.document.layered() && !back.document.layered() {
		return places
	}
	print := comparison{strip: s}
	print.look(a, b, true)
	if bytes.Equal(c.was, print.was) && bytes.Equal(c.now, print.now) {
		return places
	}
	for _, p := range print.compare(a, b, sent, back) {
		if !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	return places
}

// look renders two pages, as displayed or printed, and reads their notes.
func (c *comparison) look(a, b *page, printing bool) {
	c.printing = printing
	c.was, c.now = a.picture(c.strip, false, printing), b.picture(c.strip, false, printing)
	c.da, c.db = a.device(c.strip), b.device(c.strip)
	c.before, c.after = a.notes(c.da), b.notes(c.db)
}

func (c *comparison) compare(a, b *page, sent, back sheet) (places []Place) {
	if bytes.Equal(c.was, c.now) && sent.text == back.text {
		return nil
	}
	c.judge(a, b)
	if slices.ContainsFunc(c.marks, func(m uint8) bool { return m != alike }) && turned(c.da) != turned(c.db) {
		return []Place{{Kind: KindSize}}
	}
	all, unmatched, filled := c.share()
	if x, y, lies := moved(c.letters, c.lettersNow); all >= mostly && lies {
		a.moveTo(b, x, y)
		c.look(a, b, c.printing)
		c.judge(a, b)
		places = []Place{{Kind: KindRemade}}
		all, unmatched, filled = c.share()
	}
	switch {
	case all < mostly && !filled:
	case unmatched < hardly:
		return append(c.blanked(), c.byWords(sent, back))
	case filled || common(sent.words, back.words) < 300:
		return []Place{{Kind: KindExchange, Was: short(sent.text), Now: short(back.text)}}
	}
	return slices.Concat(places, c.hidden(), c.places())
}

// judge reads the letters of both pages and classifies each pixel.
func (c *comparison) judge(a, b *page) {
	c.letters, c.lettersNow = c.within(a.letters(c.da)), c.within(b.letters(c.db))
	c.base = c.was
	if slices.ContainsFunc(c.before, note.open) {
		c.open(c.before, a.picture(c.strip, true, c.printing))
	}
	c.mark()
}

// moved is the shift of the page's content in points, according to most of the words that occur once; agreed is false if
// they disagree.
func moved(letters, others []letter) (x, y float64, agreed bool) {
	const least, apart = 3, 0.05 // words, points
	was, now := once(letters), once(others)
	var xs, ys []float64
	for word, at := range was {
		if to, there := now[word]; there && at.word >= 0 && to.word >= 0 {
			xs, ys = append(xs, to.left-at.left), append(ys, to.bottom-at.bottom)
		}
	}
	if len(xs) < least {
		return 0, 0, false
	}
	x, y = median(xs), median(ys)
	agree := 0
	for i := range xs {
		if math.Abs(xs[i]-x) < apart && math.Abs(ys[i]-y) < apart {
			agree++
		}
	}
	return x, y, 2*agree > len(xs)
}

func median(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

// once are the words of a page by their first letters; a word that occurs several times has a negative index.
func once(letters []letter) map[string]letter {
	at := map[string]letter{}
	for from, to := 0, 0; from < len(letters); from = to {
		var word strings.Builder
		for to = from; to < len(letters) && letters[to].word == letters[from].word; to++ {
			word.WriteRune(letters[to].r)
		}
		first := letters[from]
		if _, twice := at[word.String()]; twice {
			first.word = -1
		}
		at[word.String()] = first
	}
	return at
}

// turned is the orientation of a page.
func turned(d device) [4]bool { return [4]bool{d.ax > 0, d.ay > 0, d.bx > 0, d.by > 0} }

// comparison compares a strip of two pages of the same size.
type comparison struct {
	strip
	was, now   []byte // pictures
	base       []byte // like was, but without the markings of empty fields
	letters    []letter
	lettersNow []letter
	before     []note
	after      []note
	da, db     device
	printing   bool

	words []letter // of visible words in was
	rims  []bool   // by pixel: the edge of something in was, which nothing may touch
	marks []uint8  // by pixel: see below
}

const (
	alike = iota
	isNew // darker than the empty area before
	isBad // any other change
)

// compareNotes finds additional notes, notes whose visibility or link target has changed, and fields whose value has
// changed.
func (c *comparison) compareNotes(before, after []note) (places []Place) {
	type seen struct {
		kind        enums.FPDF_ANNOTATION_SUBTYPE
		name, leads string
		flags       enums.FPDF_ANNOT_FLAG
	}
	had, fields, at, was, now := map[seen]int{}, map[string]bool{}, map[string]rect{}, map[string][]string{}, map[string][]string{}
	for _, n := range before {
		had[seen{n.kind, n.name, n.leads, n.flags}]++
		if n.field() {
			fields[n.name] = true
		}
		if n.value != "" {
			was[n.name] = append(was[n.name], n.value)
		}
	}
	for _, n := range after {
		key := seen{n.kind, n.name, n.leads, n.flags}
		had[key]--
		shown := n.markup() || n.leads != ""
		if n.field() {
			at[n.name] = n.at
			shown = !n.signature && n.flags != enums.FPDF_ANNOT_FLAG_PRINT && (n.flags != 0 || fields[n.name])
		}
		if n.value != "" {
			now[n.name] = append(now[n.name], n.value)
		}
		if had[key] < 0 && shown {
			places = append(places, Place{Kind: KindNote, Now: short(n.name + " " + n.value + " " + n.leads), Box: c.box(n.at)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if place, there := at[name]; there && !slices.Equal(was[name], now[name]) {
			places = append(places, Place{Kind: KindField, Was: short(strings.Join(was[name], " ")), Now: short(strings.Join(now[name], " ")), Box: c.box(place)})
		}
	}
	return places
}

// open removes from base what may disappear, such as the marking of an empty field that gets filled.
func (c *comparison) open(notes []note, bare []byte) {
	c.base = slices.Clone(c.was)
	for _, n := range notes {
		if n.open() {
			c.each(n.at, func(i int) { copy(pixel(c.base, i), pixel(bare, i)) })
		}
	}
}

// apart is the difference of two pixels.
func apart(a, b []byte) int {
	d := 0
	for i := range 3 {
		d = max(d, int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return d
}

func light(p []byte) int { return (2*int(p[0]) + 5*int(p[1]) + int(p[2])) / 8 }

func pixel(picture []byte, i int) []byte { return picture[4*i : 4*i+4] }

// mark classifies each pixel.
func (c *comparison) mark() {
	c.marks = make([]uint8, c.w*c.h)
	c.findRims()
	c.leaveOutFields()
	for y := range c.h {
		row := 4 * y * c.w
		if bytes.Equal(c.was[row:row+4*c.w], c.now[row:row+4*c.w]) {
			continue
		}
		for i := y * c.w; i < (y+1)*c.w; i++ {
			now, base := pixel(c.now, i), pixel(c.base, i)
			if apart(pixel(c.was, i), now) <= differs || apart(base, now) <= differs {
				continue
			}
			c.marks[i] = isBad
			if !c.rims[i] && light(now) < light(base) {
				c.marks[i] = isNew
			}
		}
	}
}

// findRims finds the edges of everything on the page, with a margin of one pixel. It leaves out lines and leaders, because
// people write on them.
func (c *comparison) findRims() {
	n := c.w * c.h
	rim := make([]uint8, n) // the margin around each edge
	for y := range c.h {
		for x := range c.w {
			i := y*c.w + x
			p := pixel(c.base, i)
			if x+1 < c.w && apart(p, pixel(c.base, i+1)) > edge {
				rim[i], rim[i+1] = 1, 1
			}
			if y+1 < c.h && apart(p, pixel(c.base, i+c.w)) > edge {
				rim[i], rim[i+c.w] = 1, 1
			}
		}
	}
	c.leaveOutRuns(rim, c.h, c.w, c.w, 1)
	c.leaveOutRuns(rim, c.w, c.h, 1, c.w)
	c.leaveOutLeaders(rim)
	c.rims, c.words = make([]bool, n), nil
	seen := map[int]bool{} // words of which anything is visible, even if the font lacks a letter
	for _, l := range c.letters {
		seen[l.word] = seen[l.word] || alnum(l.r) && c.inked(c.base, l.at)
	}
	for _, l := range c.letters { // ink as close as the next letter would belong to the word
		switch {
		case !seen[l.word] || !spells(l.r) || l.height() >= tallest:
		case !l.tilted:
			c.words = append(c.words, l)
			c.each(l.beside(l.height()), func(i int) { c.rims[i] = true })
		case c.inked(c.base, l.at): // the corners of its box are empty
			corner := l.at.within(c.w, c.h)
			c.each(l.at, func(i int) {
				if apart(pixel(c.base, i), pixel(c.base, corner.y0*c.w+corner.x0)) > faint {
					rim[i] = uint8(min((l.height()+2)/3, tile))
				}
			})
		}
	}
	for i, margin := range rim {
		if x, y, m := i%c.w, i/c.w, int(margin); m > 0 {
			c.each(rect{x - m, y - m, x + m + 1, y + m + 1}, func(i int) { c.rims[i] = true })
		}
	}
}

// leaveOutFields removes the edges below empty signature fields: people sign across what is printed there.
func (c *comparison) leaveOutFields() {
	for _, n := range c.before {
		if n.signature && !c.any(n.at, func(i int) bool { return apart(pixel(c.was, i), pixel(c.base, i)) > faint }) {
			c.each(n.at, func(i int) { c.rims[i] = false })
		}
	}
}

// leaveOutRuns removes edges along runs of equal pixels. The picture is scanned in rows lines of length pixels; nextRow and
// next are the strides.
func (c *comparison) leaveOutRuns(rim []uint8, rows, length, nextRow, next int) {
	for row := range rows {
		from := 0
		for at := 1; at <= length; at++ {
			i := row*nextRow + at*next
			if at < length && apart(pixel(c.base, i), pixel(c.base, i-next)) <= faint {
				continue
			}
			if at-from >= ruled {
				for j := from; j < at; j++ {
					rim[row*nextRow+j*next] = 0
				}
			}
			from = at
		}
	}
}

// leaders are characters that, repeated four or more times, form a leader or a line to write on.
const leaders = "._…·-–—"

func alnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// spells reports whether r is part of a word, including the placeholder for a glyph missing in the font. Beside other
// characters people may write.
func spells(r rune) bool {
	return alnum(r) || r > unicode.MaxASCII && !strings.ContainsRune(leaders, r)
}

func (c *comparison) leaveOutLeaders(rim []uint8) {
	from := 0
	for i := 0; i <= len(c.letters); i++ {
		if i < len(c.letters) && strings.ContainsRune(leaders, c.letters[i].r) {
			continue
		}
		if i-from >= 4 {
			for _, l := range c.letters[from:i] {
				c.each(rect{l.at.x0 - 1, l.at.y0 - 1, l.at.x1 + 1, l.at.y1 + 1}, func(i int) { rim[i] = 0 })
			}
		}
		from = i + 1
	}
}

// A regenerated page has most of its content at other pixels, but hardly any of it far from its old place.
const (
	mostly = 0.4
	hardly = 0.15
	least  = 12  // parts of a page that must have content
	most   = 400 // parts that signing fills on a page with less
	nearby = 2   // pixels
)

// share returns how much of the page's content has changed, how much of that has no equivalent nearby either, and whether an
// empty page was filled.
func (c *comparison) share() (all, unmatched float64, filled bool) {
	const part = 16
	inked, bad, far, added := 0, 0, 0, 0
	for y := 0; y < c.h; y += part {
		for x := 0; x < c.w; x += part {
			r := rect{x, y, x + part, y + part}.within(c.w, c.h)
			isBad := c.any(r, func(i int) bool { return c.marks[i] == isBad })
			if isBad || c.any(r, func(i int) bool { return c.rims[i] }) {
				inked++
			} else if c.any(r, func(i int) bool { return c.marks[i] == isNew }) {
				added++
			}
			if isBad {
				bad++
				if c.any(r, func(i int) bool { return c.unmatched(i) }) {
					far++
				}
			}
		}
	}
	if inked < least {
		return 0, 1, added > most
	}
	return float64(bad) / float64(inked), float64(far) / float64(max(bad, 1)), false
}

// unmatched reports whether a changed pixel has nothing similar nearby in the other picture.
func (c *comparison) unmatched(i int) bool {
	if c.marks[i] != isBad {
		return false
	}
	x, y := i%c.w, i/c.w
	near := rect{x - nearby, y - nearby, x + nearby + 1, y + nearby + 1}
	like := func(p []byte, in []byte) bool {
		return c.any(near, func(j int) bool { return apart(p, pixel(in, j)) <= 3*edge })
	}
	return !like(pixel(c.was, i), c.now) || !like(pixel(c.now, i), c.was)
}

// any reports whether is holds for any pixel of a rectangle.
func (c *comparison) any(r rect, is func(i int) bool) bool {
	r = r.within(c.w, c.h)
	for y := r.y0; y < r.y1; y++ {
		for x := r.x0; x < r.x1; x++ {
			if is(y*c.w + x) {
				return true
			}
		}
	}
	return false
}

// inked reports whether part of a picture has visible content.
func (c *comparison) inked(picture []byte, r rect) bool {
	r = r.within(c.w, c.h)
	return c.any(r, func(i int) bool { return apart(pixel(picture, i), pixel(picture, r.y0*c.w+r.x0)) > faint })
}

func (c *comparison) each(r rect, do func(i int)) {
	c.any(r, func(i int) bool { do(i); return false })
}

// byWords compares pages whose pictures tell little by their words. If a few words differ, or words were only added, it
// reports them as a change, because nobody knows what they cover. If most differ, the letters merely have other codes.
func (c *comparison) byWords(sent, back sheet) Place {
	const few = 12
	was, now := without(sent.words, back.words), without(back.words, sent.words)
	added := len(was) == 0 && len(sent.words) > 0 && len(now) > 0
	if added || len(was) > 0 && len(was)+len(now) <= few {
		return Place{Kind: KindAltered, Was: short(strings.Join(was, " ")), Now: short(strings.Join(now, " "))}
	}
	return Place{Kind: KindRemade}
}

// blanked finds words that have disappeared from their places and nearby, on a regenerated page.
func (c *comparison) blanked() (places []Place) {
	const least = 3 // letters: a single one may have moved farther
	for from, to := 0, 0; from < len(c.letters); from = to {
		for to = from; to < len(c.letters) && c.letters[to].word == c.letters[from].word; to++ {
		}
		word := c.letters[from:to]
		at := around(word)
		near := rect{at.x0 - nearby, at.y0 - nearby, at.x1 + nearby, at.y1 + nearby}
		if len(word) >= least && c.inked(c.was, at) && !c.inked(c.now, near) {
			places = append(places, Place{Kind: KindAltered, Was: spell(c.letters, word), Box: c.box(at)})
		}
	}
	return places
}

// without returns the sorted words that others lacks.
func without(words, others []string) (rest []string) {
	j := 0
	for _, w := range words {
		for j < len(others) && others[j] < w {
			j++
		}
		if j < len(others) && others[j] == w {
			j++
			continue
		}
		rest = append(rest, w)
	}
	return rest
}

type spot struct {
	r    rune
	x, y int
}

// unlike are the letters without the same letter at the same place in others.
func unlike(letters, others []letter) (list []letter) {
	at := map[spot]bool{}
	for _, l := range others {
		at[spot{l.r, l.at.x0, l.at.y1}] = true
	}
next:
	for _, l := range letters {
		for dx := -1; dx <= 1; dx++ {
			for dy := -1; dy <= 1; dy++ {
				if at[spot{l.r, l.at.x0 + dx, l.at.y1 + dy}] {
					continue next
				}
			}
		}
		list = append(list, l)
	}
	return list
}

// hidden finds additional letters that are invisible. If they replace others at the same place and look the same, they
// merely have other codes: that is less than a change, because people read both alike.
func (c *comparison) hidden() (places []Place) {
	var unseen []letter
	gone := unlike(c.letters, c.lettersNow)
	marked := func(l letter) bool { return c.any(l.at, func(i int) bool { return c.marks[i] != alike }) }
	for _, l := range unlike(c.lettersNow, c.letters) {
		recoded := c.inked(c.now, l.at) && slices.ContainsFunc(gone, func(old letter) bool { return meet(old.at, l.at) })
		if !marked(l) && !recoded {
			unseen = append(unseen, l)
		}
	}
	if slices.ContainsFunc(gone, func(l letter) bool { return spells(l.r) && !marked(l) }) {
		places = append(places, Place{Kind: KindRemade})
	}
	for from := 0; from < len(unseen); {
		to := from + 1
		for to < len(unseen) && unseen[to].word-unseen[to-1].word <= 1 {
			to++
		}
		places = append(places, Place{Kind: KindHidden, Now: spell(c.lettersNow, unseen[from:to]), Box: c.box(around(unseen[from:to]))})
		from = to
	}
	return places
}

func meet(a, b rect) bool { return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 }

// around is the bounding box of letters.
func around(letters []letter) rect {
	at := letters[0].at
	for _, l := range letters {
		at = rect{min(at.x0, l.at.x0), min(at.y0, l.at.y0), max(at.x1, l.at.x1), max(at.y1, l.at.y1)}
	}
	return at
}

// spell returns the whole words to which some letters belong.
func spell(all, some []letter) string {
	in := map[int]bool{}
	for _, l := range some {
		in[l.word] = true
	}
	var text strings.Builder
	last := -1
	for _, l := range all {
		if !in[l.word] {
			continue
		}
		if last >= 0 && l.word != last {
			text.WriteByte(' ')
		}
		last = l.word
		text.WriteRune(l.r)
	}
	return short(text.String())
}

// places are the differences of the pictures: adjacent tiles form one place.
func (c *comparison) places() (places []Place) {
	written := unlike(c.lettersNow, c.letters)
	for _, l := range written { // next to a word it makes another word of it
		if alnum(l.r) && slices.ContainsFunc(c.words, func(old letter) bool { return meet(old.at, l.beside(min(l.height(), 2*old.height()))) }) {
			c.each(l.at, func(i int) {
				if c.marks[i] == isNew {
					c.marks[i] = isBad
				}
			})
		}
	}
	across, down := (c.w+tile-1)/tile, (c.h+tile-1)/tile
	kinds := make([]uint8, across*down)
	for i, m := range c.marks {
		t := i/c.w/tile*across + i%c.w/tile
		kinds[t] = max(kinds[t], m)
	}
	of := make([]int, len(kinds)) // the index of a tile's place, counted from 1
	for i, k := range kinds {
		if k == alike || of[i] != 0 {
			continue
		}
		number := len(places) + 1
		at, worst := rect{across, down, 0, 0}, k
		of[i] = number
		for todo := []int{i}; len(todo) > 0; {
			t := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			x, y := t%across, t/across
			at, worst = rect{min(at.x0, x), min(at.y0, y), max(at.x1, x+1), max(at.y1, y+1)}, max(worst, kinds[t])
			near := rect{x - 2, y - 1, x + 3, y + 2}.within(across, down)
			for y := near.y0; y < near.y1; y++ {
				for x := near.x0; x < near.x1; x++ {
					if o := y*across + x; kinds[o] != alike && of[o] == 0 {
						of[o] = number
						todo = append(todo, o)
					}
				}
			}
		}
		p := Place{Kind: KindAdded, Box: c.box(rect{at.x0 * tile, at.y0 * tile, at.x1 * tile, at.y1 * tile})}
		if worst == isBad {
			p.Kind = KindAltered
		}
		if len(places) < maxPlaces {
			here := func(i int) bool { return c.marks[i] != alike && of[i/c.w/tile*across+i%c.w/tile] == number }
			touched := func(letters []letter) []letter {
				return slices.DeleteFunc(slices.Clone(letters), func(l letter) bool { return !c.any(l.at, here) })
			}
			if worst == isBad {
				p.Was = spell(c.letters, touched(c.letters))
			}
			p.Now = spell(c.lettersNow, touched(written))
		}
		places = append(places, p)
	}
	return places
}

// within are the letters that lie completely within the strip, or outside the page.
func (c *comparison) within(letters []letter) []letter {
	return slices.DeleteFunc(letters, func(l letter) bool {
		return l.at.y0 < 0 && c.top > 0 || l.at.y1 > c.h && c.top+c.h < c.all
	})
}

// box converts pixels to fractions of the page.
func (c *comparison) box(r rect) Box {
	r = r.within(c.w, c.h)
	w, h, top := float64(c.w), float64(c.all), float64(c.top)
	return Box{float64(r.x0) / w, (top + float64(r.y0)) / h, float64(r.x1) / w, (top + float64(r.y1)) / h}
}
