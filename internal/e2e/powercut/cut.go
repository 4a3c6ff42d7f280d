//go:build linux

package powercut

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
)

const (
	sector = 512  // bytes that are written whole or not at all
	page   = 4096 // bytes that a system usually writes together
)

// forget makes of the disk what is found after the power cut: a change or write that was not flushed is there or not, as
// random decides, and from then on all of it is durable. The same disk and the same choices come out the same.
func (d *Disk) forget(random *rand.Rand) {
	keeping := []float64{0, 0.5, 1, random.Float64()}[random.IntN(4)]
	d.forgetNames(random, keeping)
	nodes := slices.SortedFunc(maps.Keys(d.reached()), func(a, b *node) int { return cmp.Compare(a.gen, b.gen) })
	for _, n := range nodes {
		n.forget(random)
		n.ino = n.gen // the number may have been given to another, and both are there
	}
	d.free = nil
}

// forgetNames keeps each change with a probability, if what it builds upon is kept.
func (d *Disk) forgetNames(random *rand.Rand, keeping float64) {
	undone := map[place]bool{}
	for _, c := range d.changes {
		keep := random.Float64() < keeping
		if !keep || slices.ContainsFunc(c.entries, func(e entry) bool { return undone[e.place] }) {
			for _, e := range c.entries {
				undone[e.place] = true
			}
			continue
		}
		c.keep()
	}
	d.changes = nil
	for n := range d.reached() {
		if n.isFolder() {
			n.names = maps.Clone(n.keptNames)
		}
	}
}

// forget gives a node back what the disk has of it.
func (n *node) forget(random *rand.Rand) {
	if random.IntN(2) == 0 {
		n.keptMode = n.mode
	}
	n.mode = n.keptMode
	if len(n.writes) > 0 {
		n.kept = n.survivors(random)
		n.data, n.writes = slices.Clone(n.kept), nil
	}
}

// survivors is what is found in the file: how many of the writes each piece of it has seen is up to chance.
func (n *node) survivors(random *rand.Rand) []byte {
	all := len(n.writes)
	longest := int64(len(n.kept))
	for _, w := range n.writes {
		longest = max(longest, w.size)
	}
	pieces := make([]int, (longest+sector-1)/sector) // how many writes each has seen
	sized := all                                     // and how many the length
	switch random.IntN(6) {
	case 0: // nothing was written
		sized = 0
	case 1: // all of it was
		fill(pieces, func(int) int { return all })
	case 2: // up to a moment in the middle of a write
		sized = random.IntN(all + 1)
		fill(pieces, func(int) int { return max(0, sized-random.IntN(2)) })
	case 3: // the length was, and nothing else
	case 4: // page by page, whichever came first
		last := 0
		fill(pieces, func(i int) int {
			if i%(page/sector) == 0 {
				last = random.IntN(all + 1)
			}
			return last
		})
	case 5: // sector by sector
		sized = random.IntN(all + 1)
		fill(pieces, func(int) int { return random.IntN(all + 1) })
	}
	found := make([]byte, longest)
	copy(found, n.kept)
	size := int64(len(n.kept))
	for i, w := range n.writes {
		if i < sized {
			size = w.size
		}
		w.apply(found, func(piece int) bool { return i < pieces[piece] })
	}
	return found[:size]
}

func fill(pieces []int, seen func(i int) int) {
	for i := range pieces {
		pieces[i] = seen(i)
	}
}

// apply does the write in those pieces of a file that have seen it.
func (w write) apply(file []byte, seen func(piece int) bool) {
	end := w.off + int64(len(w.data))
	if w.data == nil {
		end = int64(len(file)) // what is cut off reads as zeros when the file grows again
	}
	for at := w.off; at < end; {
		next := min(end, (at/sector+1)*sector)
		if seen(int(at / sector)) {
			if w.data == nil {
				clear(file[at:next])
			} else {
				copy(file[at:next], w.data[at-w.off:])
			}
		}
		at = next
	}
}

// at is what is at a slashed path below a folder, nil for nothing.
func (n *node) at(name string) *node {
	for _, element := range strings.Split(path.Clean(name), "/") {
		if element == "" || element == "." {
			continue
		}
		if n = n.names[element]; n == nil {
			return nil
		}
	}
	return n
}

func (n *node) collect(below string, files map[string][]byte) {
	for name, child := range n.names {
		at := path.Join(below, name)
		switch {
		case child.isFolder():
			child.collect(at, files)
		case child.mode&syscall.S_IFMT == syscall.S_IFREG:
			files[at] = slices.Clone(child.data)
		}
	}
}
