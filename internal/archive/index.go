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

// byteOrder begins an index: without it Excel takes UTF-8 for something else.
const byteOrder = "\ufeff"

// lastTitle is that of the last column in every language, by which an index is told from another table.
const lastTitle = "SHA-256"

// mostIndexes is how many tables of other people named like an index are passed by.
const mostIndexes = 20

// maxIndexLine is the longest line that is read, in bytes: no line of ours is nearly as long.
const maxIndexLine = 1 << 20

// ErrBusy means that another program or computer has the index open: it is to be written later.
var ErrBusy = errors.New("another program has the file open")

// Mark is where an index ended when this computer last wrote to it.
type Mark struct {
	Name string `json:"name"` // of the file
	Size int64  `json:"size"` // bytes
	Sum  string `json:"sum"`  // of the bytes before that

	// Others says that there may be lines in it that this computer does not know to have written, as before its state was lost.
	Others bool `json:"others,omitempty"`
}

// Index is an open index, locked against others that write to it. It is for one goroutine.
//
// It is a CSV file (RFC 4180) with a byte order mark, every cell in quotes, which grows by whole lines. The last two columns,
// a file's path below the folder and its SHA-256, tell lines apart. What a loss of power or a full disk left of a last line
// is cut off when the next line is appended.
type Index struct {
	folder  *Folder
	name    string
	file    *os.File
	comma   byte
	columns int

	known map[string]bool // of the lines that were read
	whole bool            // all lines were
	other bool            // see Mark.Others
	end   int64           // of the last whole line, or of the one without its end
	torn  bool            // there is something behind it
	open  bool            // that is a line, of which only the line's end is missing
}

// OpenIndex opens the folder's index, or begins one with titles and the separator comma. Where this computer wrote to it last
// and nobody has changed anything since but by appending, only what is behind is read; otherwise all of it. The last title is
// always the same, and added. It fails with ErrBusy while somebody else has it open. Close it.
func (f *Folder) OpenIndex(titles []string, comma byte, last Mark) (*Index, error) {
	titles = append(append([]string(nil), titles...), lastTitle)
	for n := 1; n <= mostIndexes; n++ {
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

// errOtherTable means that a file of that name is not ours.
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
	if err == nil { // whoever gave it its name may have been killed before that was on the disk
		err = disk.Once(filepath.Join(f.dir, name), info, func() error { return f.flushFolders(".") })
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return x, nil
}

// beginIndex makes an index with nothing but its titles, whole or not at all.
func (f *Folder) beginIndex(name string, titles []string, comma byte) error {
	temp, err := createTemp(f.at, IndexName)
	if err != nil {
		return err
	}
	defer temp.discard()
	if _, err := io.WriteString(temp.file, byteOrder+line(titles, comma)); err != nil {
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

// read reads the titles, and the lines behind the mark or all of them.
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
	titles, ok := strings.CutPrefix(head, byteOrder)
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

// Others is Mark.Others, as of now.
func (x *Index) Others() bool { return x.other }

// ReadAll reads the lines before the mark, too, for Has. What was lost and saved or found again may be listed there.
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
		if !first { // the titles
			x.note(text)
		}
	}
	return nil
}

// note remembers a line, and reports whether it need not be cut off: it is a whole one, or not of our making.
func (x *Index) note(text string) (keep bool) {
	cells, whole := cellsOf(text, x.comma)
	if whole && len(cells) == x.columns && (len(cells[x.columns-1]) == 2*sha256.Size || cells[x.columns-1] == "" && strings.HasSuffix(strings.TrimRight(text, "\r\n"), `""`)) {
		x.known[identity(cells[x.columns-2], cells[x.columns-1])] = true
		return true
	}
	return !strings.HasPrefix(text, `"`) && !strings.ContainsRune(text, 0)
}

// isAt reports whether the index, of that size, is as the mark says up to there.
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

// Whole reports whether all lines were read, so that what Has does not know is missing. Otherwise only the lines were read
// that have come since this computer wrote last.
func (x *Index) Whole() bool { return x.whole }

// Has reports whether a line that was read is about that file; after ReadAll, whether any line is.
func (x *Index) Has(file, sum string) bool { return x.known[identity(file, sum)] }

// identity is what tells lines apart; a Mac writes accents in another way.
func identity(file, sum string) string { return norm.NFC.String(file) + "\x00" + strings.ToLower(sum) }

// Append adds lines, each of as many cells as there are titles, flushes them and whatever else was read, and says where the
// index ends now. Cells are
// texts that no spreadsheet takes for formulas. After an error none of the lines counts as written, and the next OpenIndex
// finds out which are there.
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
	// A share without locks may have let another computer write here at the same moment.
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

// Close lets others write.
func (x *Index) Close() error { return x.file.Close() }

// line is a line of cells, all of them in quotes: what another spreadsheet takes for a separator stays in its cell.
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

// readLine reads up to a line's end, which it returns, too. What is longer than any line of ours ends the reading.
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

// cellsOf takes a line apart, as a spreadsheet may have written it, and reports whether it ends where a line may.
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
