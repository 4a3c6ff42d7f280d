package drop

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// described is a list of virtual files as programs for Windows hand it over. A size below 0 is not said.
func described(files ...virtual) []byte {
	list := binary.LittleEndian.AppendUint32(nil, uint32(len(files)))
	for _, f := range files {
		d := make([]byte, descriptorSize)
		flags := uint32(0)
		if f.size >= 0 {
			flags |= hasSize
			binary.LittleEndian.PutUint32(d[sizeOffset:], uint32(f.size>>32))
			binary.LittleEndian.PutUint32(d[sizeOffset+4:], uint32(f.size))
		}
		if strings.HasSuffix(f.name, `\`) {
			flags |= hasAttributes
			binary.LittleEndian.PutUint32(d[attributesOffset:], isFolder)
		}
		binary.LittleEndian.PutUint32(d, flags)
		for i, unit := range utf16.Encode([]rune(f.name)) {
			if i == descriptorUnit {
				break
			}
			binary.LittleEndian.PutUint16(d[descriptorName+2*i:], unit)
		}
		list = append(list, d...)
	}
	return list
}

func TestVirtualFilesAreReadAsTheyAreDescribed(t *testing.T) {
	long := strings.Repeat("x", descriptorUnit)
	got, err := readDescriptors(described(virtual{name: "Lease Ä 4.pdf", size: 5_000_000_000}, virtual{name: `folder\`, size: -1},
		virtual{name: `folder\😀.msg`, size: -1}, virtual{name: long, size: 0}, virtual{name: "", size: 1}))
	want := []virtual{{"Lease Ä 4.pdf", 5_000_000_000, 0}, {`folder\😀.msg`, -1, 2}, {long, 0, 3}, {"", 1, 4}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("read %+v, %v", got, err)
	}
	whole := described(virtual{name: "a", size: 1})
	for name, list := range map[string][]byte{
		"nothing":       nil,
		"cut":           whole[:len(whole)-1],
		"more than all": {0xff, 0xff, 0xff, 0xff},
		"far too many":  make([]byte, 4+descriptorSize),
		"a size beyond": described(virtual{name: "a", size: 1}),
	} {
		switch name {
		case "far too many":
			binary.LittleEndian.PutUint32(list, mostVirtual+1)
		case "a size beyond":
			binary.LittleEndian.PutUint32(list[4+sizeOffset:], 1<<31)
		}
		if files, err := readDescriptors(list); err == nil {
			t.Errorf("%s: %+v", name, files)
		}
	}
}

func FuzzDescriptors(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(described())
	f.Add(described(virtual{name: `..\a.pdf`, size: 1}, virtual{name: `b\`, size: -1}))
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, list []byte) {
		files, err := readDescriptors(list)
		if err != nil && files != nil {
			t.Error("an error with files")
		}
		if len(files)*descriptorSize > len(list) {
			t.Errorf("%d files in %d bytes", len(files), len(list))
		}
		for _, file := range files {
			if !utf8.ValidString(file.name) || len(file.name) > 3*descriptorUnit || file.size < -1 {
				t.Errorf("read %+v", file)
			}
		}
	})
}
