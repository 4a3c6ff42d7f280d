package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
)

// The layout of a bbolt file, as far as it is checked here (bbolt internal/common, stable since boltdb). All numbers
// are in the byte order of the machine, which is little-endian wherever Countersign runs.
const (
	pageHeaderSize = 16 // id uint64, flags uint16, count uint16, overflow uint32
	metaSize       = 64
	metaMagic      = 0xED0CDAED
	noFreelist     = ^uint64(0)

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10

	minFileSize = 4 * 1024 // smaller than any file bbolt makes: four pages
)

// meta is what a meta page says about the file.
type meta struct {
	pageSize uint64
	root     uint64 // page number
	freelist uint64 // page number
	pages    uint64 // high-water mark: how many pages the file must have
	txid     uint64
}

// checkFile looks for damage that bbolt would meet as a crash rather than as an error: a file shorter than its own
// page count, or a root or free list page that is none. It reads four pages. bbolt holds the lock meanwhile.
func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	m, err := newestMeta(f, info.Size())
	if err != nil {
		return err
	}
	if need := m.pages * m.pageSize; uint64(info.Size()) < need {
		return fmt.Errorf("truncated: %d bytes of %d", info.Size(), need)
	}
	if err := checkPage(f, m, m.root, flagBranch, flagLeaf); err != nil {
		return fmt.Errorf("root page: %w", err)
	}
	if m.freelist == noFreelist {
		return errors.New("no list of free pages")
	}
	if err := checkPage(f, m, m.freelist, flagFreelist); err != nil {
		return fmt.Errorf("list of free pages: %w", err)
	}
	return nil
}

// newestMeta returns the valid meta page with the highest transaction number. One of the two may be torn: that is
// what a crash in the middle of a commit leaves, and the other one is then the truth.
func newestMeta(r io.ReaderAt, size int64) (meta, error) {
	best, found := readMeta(r, 0)
	for pageSize := int64(1 << 10); pageSize <= 1<<16 && pageSize < size; pageSize <<= 1 {
		if found && pageSize != int64(best.pageSize) {
			continue
		}
		if second, ok := readMeta(r, pageSize); ok && int64(second.pageSize) == pageSize && (!found || second.txid > best.txid) {
			best, found = second, true
		}
	}
	if !found {
		return meta{}, errors.New("no valid meta page")
	}
	return best, nil
}

func readMeta(r io.ReaderAt, at int64) (meta, bool) {
	var page [pageHeaderSize + metaSize]byte
	if _, err := r.ReadAt(page[:], at); err != nil {
		return meta{}, false
	}
	b := page[pageHeaderSize:]
	sum := fnv.New64a()
	sum.Write(b[:56])
	if binary.LittleEndian.Uint32(b) != metaMagic || binary.LittleEndian.Uint64(b[56:]) != sum.Sum64() {
		return meta{}, false
	}
	return meta{
		pageSize: uint64(binary.LittleEndian.Uint32(b[8:])),
		root:     binary.LittleEndian.Uint64(b[16:]),
		freelist: binary.LittleEndian.Uint64(b[32:]),
		pages:    binary.LittleEndian.Uint64(b[40:]),
		txid:     binary.LittleEndian.Uint64(b[48:]),
	}, true
}

// checkPage verifies that page id lies in the file, knows its own number and is of one of the kinds.
func checkPage(r io.ReaderAt, m meta, id uint64, kinds ...uint16) error {
	if id < 2 || id >= m.pages {
		return fmt.Errorf("page %d of %d", id, m.pages)
	}
	var head [pageHeaderSize]byte
	if _, err := r.ReadAt(head[:], int64(id*m.pageSize)); err != nil {
		return fmt.Errorf("read page %d: %w", id, err)
	}
	if own := binary.LittleEndian.Uint64(head[:]); own != id {
		return fmt.Errorf("page %d says it is page %d", id, own)
	}
	flags := binary.LittleEndian.Uint16(head[8:])
	if slices.Contains(kinds, flags) {
		return nil
	}
	return fmt.Errorf("page %d is of kind %#x", id, flags)
}
