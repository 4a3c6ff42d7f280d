package drop

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// virtual is a file that exists only inside the program it is dragged from.
type virtual struct {
	name string // as named there, possibly with folders
	size int64  // in bytes; negative if unknown
	at   int    // its index there
}

// Layout of a list of such files (FILEGROUPDESCRIPTORW and FILEDESCRIPTORW, shlobj_core.h).
const (
	descriptorSize = 592 // per file
	descriptorName = 72  // offset of the name: 260 UTF-16 units, zero-terminated
	descriptorUnit = 260

	attributesOffset = 36
	sizeOffset       = 64 // high half first
	hasAttributes    = 0x4
	hasSize          = 0x40
	isFolder         = 0x10
)

// mostVirtual limits the files in a list; no mail has more.
const mostVirtual = 1000

// readDescriptors reads a list of virtual files, leaving out folders.
func readDescriptors(group []byte) (files []virtual, err error) {
	if len(group) < 4 {
		return nil, errors.New("the list of files is cut short")
	}
	n := int64(binary.LittleEndian.Uint32(group))
	group = group[4:]
	if n > mostVirtual || n*descriptorSize > int64(len(group)) {
		return nil, errors.New("the list of files is shorter than it says, or far too long")
	}
	for i := range int(n) {
		d := group[i*descriptorSize : (i+1)*descriptorSize]
		flags, attributes := binary.LittleEndian.Uint32(d), binary.LittleEndian.Uint32(d[attributesOffset:])
		if flags&hasAttributes != 0 && attributes&isFolder != 0 {
			continue
		}
		file := virtual{name: readName(d[descriptorName:]), size: -1, at: i}
		if flags&hasSize != 0 {
			size := uint64(binary.LittleEndian.Uint32(d[sizeOffset:]))<<32 | uint64(binary.LittleEndian.Uint32(d[sizeOffset+4:]))
			if file.size = int64(size); file.size < 0 {
				return nil, errors.New("a file has more bytes than there are")
			}
		}
		files = append(files, file)
	}
	return files, nil
}

// readName reads a name up to its zero, or to the end if there is none. Unpaired surrogates become U+FFFD.
func readName(b []byte) string {
	var units []uint16
	for i := 0; i < descriptorUnit && 2*i+2 <= len(b); i++ {
		unit := binary.LittleEndian.Uint16(b[2*i:])
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	return string(utf16.Decode(units))
}
