package packages

import (
	"context"
	"image"
	"path/filepath"
	"strings"

	"countersign/internal/office"
	"countersign/ui/async"
)

// record is all that is known about the chosen package, read beside the window's goroutine.
type record struct {
	row       office.PackageRow
	known     bool
	failure   error           // why it could not be read
	draft     office.Draft    // what it was sent from
	sentHere  bool            // draft is known
	originals map[int]string  // by its place in the draft, each file that is still there
	missing   map[string]bool // saved files that are no longer where they were saved
}

// readRecord reads the chosen package, one reading at a time, so that holding an arrow key does not pile them up.
func (s *Screen) readRecord() {
	id := s.chosen
	if id != s.record.row.ID {
		for _, stop := range s.leave {
			stop()
		}
		s.leave = nil
		s.show(s.known(id)) // never what belongs to another one
	}
	if id == "" {
		s.show(record{})
		return
	}
	if _, isHead := s.headOfID(id); isHead { // all of it is known
		s.draw(s.record.row.ID != id)
		return
	}
	if s.reading {
		s.again = true
		return
	}
	s.reading = true
	async.Then(s.env.Work, func(context.Context) (record, error) { return s.recordOf(id), nil }, func(p record, _ error) {
		s.reading = false
		if s.chosen == id {
			s.show(p)
		}
		if s.again || s.chosen != id {
			s.again = false
			s.readRecord()
		}
	})
}

// known is as much of a package as the list knows: its name, until the rest is read.
func (s *Screen) known(id string) (p record) {
	p.row.ID = id
	if place, listed := s.all.places[id]; listed {
		p.row.Name = s.all.line(place).Name
	}
	return p
}

// recordOf reads a package. It runs beside the window's goroutine.
func (s *Screen) recordOf(id string) (p record) {
	if p.row, p.known, p.failure = s.env.Office.Package(id); p.known {
		p.draft, p.sentHere, p.failure = s.env.Office.DraftOf(id)
	}
	if p.failure != nil {
		return record{row: office.PackageRow{Package: office.Package{ID: id}}, failure: p.failure}
	}
	if !p.known {
		return p
	}
	p.originals = map[int]string{}
	for i, f := range p.draft.Files {
		if s.env.System.Exists(f.Path) {
			p.originals[i] = f.Path
		}
	}
	p.missing = map[string]bool{}
	for _, f := range p.row.Files {
		if f.State == office.JobDone && !s.env.System.Exists(f.Path) {
			p.missing[f.Path] = true
		}
	}
	return p
}

// saved are the files that are in the folder, the signed documents first.
func (p record) saved() (files []office.File) {
	for _, f := range p.row.Files {
		if f.State == office.JobDone && !p.missing[f.Path] {
			files = append(files, f)
		}
	}
	return files
}

// signed is the signed document that "Open signed document" opens, empty when none is saved.
func (p record) signed() (path string) {
	if saved := p.saved(); len(saved) > 0 && saved[0].Kind == office.FileSigned {
		return saved[0].Path
	}
	return ""
}

// pages are the files of which a picture of page 1 is worth showing.
func (p record) pages() (paths []string) {
	for _, l := range p.files() {
		if l.path != "" && isPDF(l.path) {
			paths = append(paths, l.path)
		}
	}
	return paths[:min(len(paths), maxPictures)]
}

func isPDF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".pdf") }

const (
	maxPictures  = 12  // of one package
	keepPictures = 64  // in memory
	pictureWidth = 240 // pixels: enough for twice the density
)

// fetch asks, once for each, for the pictures, which takes a moment. It stops when another package is chosen, and what had
// not come by then is asked for again next time.
func (s *Screen) fetch(p record) {
	var paths []string
	for _, path := range p.pages() {
		if _, asked := s.pictures[path]; !asked {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		s.fetchPictures(p.row.ID, paths)
	}
}

func (s *Screen) fetchPictures(id string, paths []string) {
	if len(s.pictures) > keepPictures {
		clear(s.pictures)
	}
	for _, path := range paths {
		s.pictures[path] = nil // asked
	}
	type pictures map[string]image.Image
	s.leave = append(s.leave, async.Then(s.env.Work, func(ctx context.Context) (pictures, error) {
		found := pictures{}
		for _, path := range paths {
			picture, err := s.env.Office.Preview(ctx, path, pictureWidth)
			if ctx.Err() != nil {
				return found, nil
			}
			if err != nil {
				picture = nil // no picture: the name says enough
			}
			found[path] = picture
		}
		return found, nil
	}, func(found pictures, _ error) {
		fresh := false
		for _, path := range paths {
			picture, tried := found[path]
			if !tried {
				delete(s.pictures, path)
				continue
			}
			s.pictures[path] = picture
			fresh = fresh || picture != nil
		}
		if fresh {
			s.redraw(id)
		}
	}))
}

// redraw shows the chosen package with what came in meanwhile.
func (s *Screen) redraw(id string) {
	if s.chosen == id && s.record.row.ID == id {
		s.draw(false)
	}
}
