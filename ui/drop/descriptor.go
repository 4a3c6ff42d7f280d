package drop

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// virtual is a file that exists only in the program from which it is dragged.
type virtual struct {
	name string // as that program calls it, perhaps with folders
	size int64  // in bytes; negative where it does not say
	at   int    // its number there
}

// The form of a list of such files (FILEGROUPDESCRIPTORW and FILEDESCRIPTORW, shlobj_core.h).
const (
	descriptorSize = 592 // of one file
	descriptorName = 72  // where its name begins, 260 units of UTF-16 with a zero at the end
	descriptorUnit = 260

	attributesOffset = 36
	sizeOffset       = 64 // the higher half first
	hasAttributes    = 0x4
	hasSize          = 0x40
	isFolder         = 0x10
)

// mostVirtual is how many files a list may have: a mail with more is none.
const mostVirtual = 1000

// readDescriptors reads a list of virtual files, without the folders among them.
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

// readName reads a name up to its zero, or its end where it has none. Halves of characters become the sign for those.
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
