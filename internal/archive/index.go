package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/office/filename"

	"golang.org/x/text/unicode/norm"
)

// IndexName is the file in which a folder lists what was saved there.
const IndexName = "index.csv"

// byteOrder begins an index: without it Excel does not read the file as UTF-8.
const byteOrderMark = "\ufeff"

// lastTitle heads the last column in every language. It distinguishes an index from other tables.
const lastTitle = "SHA-256"

// maxForeignIndexes limits how many other people's files with an index's name are skipped.
const maxForeignIndexes = 20

// maxIndexLine is the longest line that is read, in bytes: our own lines are far shorter.
const maxIndexLine = 1 << 20

// ErrBusy means that another program or computer has the index open. Try again later.
var ErrBusy = errors.New("another program has the file open")

// Mark is where an index ended when this computer last wrote to it.
type Mark struct {
	Name string `json:"name"` // of the file
	Size int64  `json:"size"` // bytes
	Sum  string `json:"sum"`  // of the bytes before that

	// Others says that the index may hold lines this computer does not remember writing, for example because its state was
	// lost.
	Others bool `json:"others,omitempty"`
}

// Index is an open index, locked against others that write to it. It is for one goroutine.
//
// It is a CSV file (RFC 4180) with a byte order mark and every cell in quotes. It grows by whole lines. The last two
// columns, a file's path below the folder and its SHA-256, identify a line. A last line cut off by a power failure or a full
// disk is removed when the next line is appended.
type Index struct {
	folder  *Folder
	name    string
	file    *os.File
	comma   byte
	columns int

	known map[string]bool // identities of the lines that were read
	whole bool            // all lines were read
	other bool            // see Mark.Others
	end   int64           // of the last whole line, or of a last one without its line end
	torn  bool            // there is something after end
	open  bool            // what is there is a line that lacks only its line end
}

// OpenIndex opens the folder's index, or creates one with these titles and separator. It adds the last title itself. If the
// file has only grown since this computer last wrote to it, only the new part is read; otherwise all of it. It fails with
// ErrBusy while somebody else has it open. The caller closes it.
func (f *Folder) OpenIndex(titles []string, comma byte, last Mark) (*Index, error) {
	titles = append(append([]string(nil), titles...), lastTitle)
	for n := 1; n <= maxForeignIndexes; n++ {
		name := filename.Numbered(IndexName, n)
		x, err := f.openIndex(name, titles, comma, last)
		if errors.Is(err, errOtherTable) {
			continue
		}
		if err != nil {
			if isBusy(err) {
				return nil, f.fail(name, ErrBusy, err)
			}
			return nil, f.because(name, err)
		}
		return x, nil
	}
	return nil, f.fail(IndexName, ErrExists, nil)
}

// errOtherTable means that a file with an index's name is not ours.
var errOtherTable = errors.New("a table of somebody else")

func (f *Folder) openIndex(name string, titles []string, comma byte, last Mark) (*Index, error) {
	info, err := f.at.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.beginIndex(name, titles, comma); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err = f.at.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errOtherTable
	}
	file, err := f.at.Open(name, info, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	x := &Index{folder: f, name: name, file: file, known: map[string]bool{}}
	if err = lockFile(file); err == nil {
		err = x.read(len(titles), last)
	}
	x.other = len(x.known) > 0 || last.Others && !x.whole
	if err == nil { // whoever renamed it may have been killed before the name was on the disk
		err = disk.Once(filepath.Join(f.dir, name), info, func() error { return f.flushFolders(".") })
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return x, nil
}

// beginIndex creates an index that holds only its titles, atomically.
func (f *Folder) beginIndex(name string, titles []string, comma byte) error {
	temp, err := createTemp(f.at, IndexName)
	if err != nil {
		return err
	}
	defer temp.discard()
	if _, err := io.WriteString(temp.file, byteOrderMark+line(titles, comma)); err != nil {
		return err
	}
	if err := temp.finish(); err != nil {
		return err
	}
	if err := f.at.NameNew(temp.name, name); err != nil {
		return err
	}
	disk.Forget(filepath.Join(f.dir, name))
	return f.at.Flush()
}

// read reads the titles, and then the lines after the mark or all of them.
func (x *Index) read(columns int, last Mark) error {
	info, err := x.file.Stat()
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(x.file, 64<<10)
	head, err := readLine(in)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	titles, ok := strings.CutPrefix(head, byteOrderMark)
	if !ok || !strings.HasSuffix(titles, "\n") {
		return errOtherTable
	}
	for _, comma := range []byte{',', ';', '\t'} {
		if cells, whole := cellsOf(titles, comma); whole && len(cells) == columns && cells[columns-1] == lastTitle {
			x.comma, x.columns = comma, columns
		}
	}
	if x.columns == 0 {
		return errOtherTable
	}
	x.end, x.whole = int64(len(head)), true
	if x.isAt(last, info.Size()) {
		x.end, x.whole = last.Size, false
		if _, err := x.file.Seek(x.end, io.SeekStart); err != nil {
			return err
		}
		in.Reset(x.file)
	}
	for {
		text, err := readLine(in)
		if errors.Is(err, io.EOF) {
			x.torn = text != ""
			if x.open = x.torn && x.note(text); x.open {
				x.end += int64(len(strings.TrimRight(text, "\r")))
			}
			return nil
		}
		if err != nil {
			return err
		}
		x.end += int64(len(text))
		x.note(text)
	}
}

// Others is the current Mark.Others.
func (x *Index) Others() bool { return x.other }

// ReadAll also reads the lines before the mark, for Has: documents that were lost and saved or found again may be listed
// there.
func (x *Index) ReadAll() error {
	in := bufio.NewReaderSize(io.NewSectionReader(x.file, 0, x.end), 64<<10)
	for first := true; !x.whole; first = false {
		text, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return x.folder.because(x.name, err)
		}
		if !first { // skips the titles
			x.note(text)
		}
	}
	return nil
}

// note remembers a line, and reports whether it may stay: it is complete, or not written by us.
func (x *Index) note(text string) (keep bool) {
	cells, whole := cellsOf(text, x.comma)
	if whole && len(cells) == x.columns && (len(cells[x.columns-1]) == 2*sha256.Size || cells[x.columns-1] == "" && strings.HasSuffix(strings.TrimRight(text, "\r\n"), `""`)) {
		x.known[identity(cells[x.columns-2], cells[x.columns-1])] = true
		return true
	}
	return !strings.HasPrefix(text, `"`) && !strings.ContainsRune(text, 0)
}

// isAt reports whether an index of that size still matches the mark up to the mark's position.
func (x *Index) isAt(m Mark, size int64) bool {
	if m.Name != x.name || m.Size < x.end || m.Size > size {
		return false
	}
	sum, err := x.sumBefore(m.Size)
	return err == nil && sum == m.Sum
}

func (x *Index) sumBefore(end int64) (string, error) {
	b := make([]byte, min(end, 4096))
	if _, err := x.file.ReadAt(b, end-int64(len(b))); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Whole reports whether all lines were read, so that what Has does not know is really missing. Otherwise only the lines
// added since this computer last wrote were read.
func (x *Index) Whole() bool { return x.whole }

// Has reports whether a line that was read is about that file; after ReadAll, whether any line is.
func (x *Index) Has(file, sum string) bool { return x.known[identity(file, sum)] }

// identity identifies a line by file and hash; NFC, because macOS encodes accents differently.
func identity(file, sum string) string { return norm.NFC.String(file) + "\x00" + strings.ToLower(sum) }

// Append adds lines, each with as many cells as there are titles, flushes the file and returns where the index ends now. It
// writes cells so that no spreadsheet takes them for formulas. After an error none of the lines counts as written, and the
// next OpenIndex finds out which are there.
func (x *Index) Append(lines [][]string) (Mark, error) {
	mark, err := x.append(lines)
	if err != nil {
		if isBusy(err) {
			return Mark{}, x.folder.fail(x.name, ErrBusy, err)
		}
		return Mark{}, x.folder.because(x.name, err)
	}
	return mark, nil
}

func (x *Index) append(lines [][]string) (Mark, error) {
	var text bytes.Buffer
	at := x.end
	if x.open {
		text.WriteString("\r\n")
	}
	for _, cells := range lines {
		if len(cells) != x.columns {
			return Mark{}, fmt.Errorf("a line of %d cells below %d titles", len(cells), x.columns)
		}
		text.WriteString(line(cells, x.comma))
	}
	if x.torn && !x.open {
		if err := x.file.Truncate(at); err != nil {
			return Mark{}, err
		}
	}
	if text.Len() > 0 {
		if _, err := x.file.WriteAt(text.Bytes(), at); err != nil {
			return Mark{}, errors.Join(err, x.file.Truncate(at))
		}
	}
	if err := x.file.Sync(); err != nil {
		return Mark{}, err
	}
	// On a share without locks another computer may have written here at the same moment.
	there := make([]byte, text.Len())
	if _, err := x.file.ReadAt(there, at); err != nil && !errors.Is(err, io.EOF) {
		return Mark{}, err
	}
	if !bytes.Equal(there, text.Bytes()) {
		return Mark{}, fmt.Errorf("%w: it wrote at the same place", ErrBusy)
	}
	x.end, x.torn, x.open = at+int64(text.Len()), false, false
	for _, cells := range lines {
		x.known[identity(cells[x.columns-2], cells[x.columns-1])] = true
	}
	sum, err := x.sumBefore(x.end)
	return Mark{Name: x.name, Size: x.end, Sum: sum, Others: x.other}, err
}

// Close releases the lock.
func (x *Index) Close() error { return x.file.Close() }

// line formats a line with all cells in quotes, so that another program's separator inside a cell does not split it.
func line(cells []string, comma byte) string {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteByte(comma)
		}
		b.WriteByte('"')
		b.WriteString(strings.ReplaceAll(strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(cell), `"`, `""`))
		b.WriteByte('"')
	}
	return b.String() + "\r\n"
}

// readLine reads a line including its end. A line longer than any of ours ends the reading.
func readLine(in *bufio.Reader) (string, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxIndexLine {
			return "", errOtherTable
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(text), err
		}
	}
}

// cellsOf splits a line, also as another spreadsheet program may have written it, and reports whether the line is complete.
func cellsOf(text string, comma byte) (cells []string, whole bool) {
	text = strings.TrimRight(text, "\r\n")
	var cell strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' && quoted && i+1 < len(text) && text[i+1] == '"':
			cell.WriteByte('"')
			i++
		case c == '"' && (quoted || cell.Len() == 0):
			quoted = !quoted
		case c == comma && !quoted:
			cells = append(cells, cell.String())
			cell.Reset()
		default:
			cell.WriteByte(c)
		}
	}
	return append(cells, cell.String()), !quoted
}
