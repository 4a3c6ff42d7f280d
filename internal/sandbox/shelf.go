package sandbox

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// shelf keeps the packages as they were read last: a busy year has thousands, and lists are asked for all day. What lies
// on it is read and never changed; whoever changes a package reads one of its own. It may be used from any goroutine.
type shelf struct {
	reading sync.Mutex // one reads what is written since, at a time
	whole   bool       // everything was read once
	all     []*shelved // newest first; a new one each time it changes
	byID    map[string]*shelved

	mu    sync.Mutex
	stale map[string]bool // ids of packages that were written since they were read
}

// shelved is a package and how tests look at it, nil as long as that goes with the time.
type shelved struct {
	pack
	view *Package

	mu   sync.Mutex
	said [kindsOfAnswer]said
}

// said is what was answered about a package in that state.
type said struct {
	state  string
	answer json.RawMessage
}

// The answers that tell of a package: what they say changes with the package, and with the state that the time gives it.
const (
	asItem = iota
	asStatus
	asRecord
	kindsOfAnswer
)

// answer is what view says of the package: it is put into words once, for programs ask all day.
func (p *shelved) answer(kind int, now time.Time, view func(*pack) object) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := &p.said[kind]
	if state := p.stateAt(now); last.answer == nil || last.state != state {
		answer, err := encoded(view(&p.pack))
		if err != nil {
			return nil, err
		}
		*last = said{state, bytes.TrimSuffix(answer, []byte("\n"))}
	}
	return last.answer, nil
}

// putPack stores a package, and has it read anew.
func (s *Server) putPack(tx *bolt.Tx, p *pack) error {
	id := p.PackageID
	tx.OnCommit(func() {
		s.shelf.mu.Lock()
		defer s.shelf.mu.Unlock()
		if s.shelf.stale == nil {
			s.shelf.stale = map[string]bool{}
		}
		s.shelf.stale[id] = true
	})
	return put(tx, bucketPackages, id, p)
}

// packs are all packages, newest first. The list and what is in it belong to the shelf.
func (s *Server) packs() ([]*shelved, error) {
	h := &s.shelf
	h.reading.Lock()
	defer h.reading.Unlock()
	h.mu.Lock()
	stale := h.stale // before the view: what is written after it is stale again
	h.stale = nil
	h.mu.Unlock()
	if h.whole && len(stale) == 0 {
		return h.all, nil
	}
	var read []*shelved
	err := s.db.View(func(tx *bolt.Tx) error {
		if !h.whole {
			return each(tx, bucketPackages, func(_ string, p pack) error {
				read = append(read, s.shelve(p))
				return nil
			})
		}
		for id := range stale {
			p, err := get[pack](tx, bucketPackages, id)
			if err != nil {
				return err
			}
			read = append(read, s.shelve(p))
		}
		return nil
	})
	if err != nil {
		h.whole = false
		return nil, err
	}
	if h.whole {
		h.all = slices.Clone(h.all)
		for _, p := range read {
			at, known := slices.BinarySearchFunc(h.all, p, byAge)
			if !known {
				h.all = slices.Insert(h.all, at, p)
			}
			h.all[at] = p
		}
	} else {
		h.all, h.whole, h.byID = read, true, map[string]*shelved{}
		slices.SortFunc(h.all, byAge)
	}
	for _, p := range read {
		h.byID[p.PackageID] = p
	}
	return h.all, nil
}

// pack is the package with that id, nil for none. It belongs to the shelf.
func (s *Server) pack(id string) (*shelved, error) {
	if _, err := s.packs(); err != nil {
		return nil, err
	}
	s.shelf.reading.Lock()
	defer s.shelf.reading.Unlock()
	return s.shelf.byID[id], nil
}

func byAge(a, b *shelved) int { return newestFirst(&a.pack, &b.pack) }

// shelve is p with how tests look at it, once that no longer goes with the time.
func (s *Server) shelve(p pack) *shelved {
	x := &shelved{pack: p}
	if p.State != stateOpen {
		view := s.controlView(&x.pack, s.opt.Now())
		x.view = &view
	}
	return x
}
