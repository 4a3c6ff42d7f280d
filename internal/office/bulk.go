package office

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"countersign/internal/message"
)

// MaxCell is the maximum length of a list's cell, in characters.
const MaxCell = 8000

// ListRow is a row of a list as it was read. Line counts the lines of the file from 1.
type ListRow struct {
	Line   int      `json:"line"`
	Cells  []string `json:"cells"`
	Hidden bool     `json:"hidden,omitempty"` // the spreadsheet hides it, for example by a filter
}

// ColumnKind says what a column of a list contains.
type ColumnKind string

const (
	ColumnOther     ColumnKind = "" // fills placeholders
	ColumnName      ColumnKind = "name"
	ColumnFirst     ColumnKind = "first"
	ColumnLast      ColumnKind = "last"
	ColumnEmail     ColumnKind = "email"
	ColumnRole      ColumnKind = "role"
	ColumnField     ColumnKind = "field"
	ColumnPackage   ColumnKind = "package"
	ColumnMessage   ColumnKind = "message"
	ColumnDue       ColumnKind = "due"
	ColumnReference ColumnKind = "reference"
	ColumnCC        ColumnKind = "cc"
	ColumnBCC       ColumnKind = "bcc"
)

// heads are the headings by which a kind of column is recognised, in the form of folded. Whether a heading means the first
// or the last name can depend on the language and on the other columns: see settleNames.
var heads = map[ColumnKind]string{
	ColumnName: "name|full name|signer|signer name|nom|nom complet|nom et prenom|prenom nom|signataire|nombre|nombre completo|" +
		"nombre y apellidos|firmante|unterzeichnende|unterzeichner|unterzeichnerin|vollstandiger name",
	ColumnFirst: "first name|firstname|given name|forename|vorname|vornamen|rufname|prenom|prenoms|nombre de pila",
	ColumnLast:  "last name|lastname|surname|family name|nachname|familienname|zuname|nom de famille|apellido|apellidos|primer apellido",
	ColumnEmail: "e mail|email|mail|e mail address|email address|mail address|e mail adresse|emailadresse|mailadresse|mail adresse|courriel|" +
		"adresse e mail|adresse email|adresse mail|adresse courriel|adresse electronique|correo|correo electronico|direccion de correo|direccion de correo electronico",
	ColumnRole:      "role|rolle|rol",
	ColumnPackage:   "package|package name|paket|paketname|name des pakets|enveloppe|nom de l enveloppe|paquete|nombre del paquete",
	ColumnMessage:   "message|message to the signers|nachricht|nachricht an die unterzeichnenden|mitteilung|message aux signataires|mensaje|mensaje para los firmantes",
	ColumnDue:       "due|due date|deadline|sign by|frist|fallig|fallig am|falligkeit|falligkeitsdatum|echeance|date d echeance|date limite|fecha limite|vencimiento|fecha de vencimiento|plazo",
	ColumnReference: "reference|ref|our reference|unser zeichen|zeichen|aktenzeichen|referenz|notre reference|referencia|nuestra referencia",
	ColumnCC:        "cc|copy|copy to|kopie|kopie an|copie|copie a|en copie|copia|copia a|con copia",
	ColumnBCC:       "bcc|blind copy|blindkopie|cci|copie cachee|cco|copia oculta",
}

var kinds = func() map[string]ColumnKind {
	all := map[string]ColumnKind{}
	for kind, names := range heads {
		for name := range strings.SplitSeq(names, "|") {
			all[name] = kind
		}
	}
	return all
}()

// folded is a heading without what people write differently: case, accents, and anything but letters and digits.
func folded(head string) string {
	return strings.Join(strings.FieldsFunc(Fold(head), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// Column is a column of a list. If several people sign, Person says whose column it is: a role of the template, or the
// number at the end of the heading; empty for the first.
type Column struct {
	Head   string     `json:"head"`
	Kind   ColumnKind `json:"kind,omitempty"`
	Person string     `json:"person,omitempty"`
}

// CellError says what is wrong with a cell. Column is its index, -1 for the line as a whole.
type CellError struct {
	Column int             `json:"column"`
	Text   message.Message `json:"text"`
}

// Before says that a line was already sent, from this list or another one, or will be.
type Before string

const (
	BeforeSame    Before = "same"    // the same package
	BeforeWaiting Before = "waiting" // a line of a list that is not sent yet but will be
	BeforeChanged Before = "changed" // the same documents to the same people, with some other difference
)

// Left reports whether a line of which this is known is to be sent, or with again, sent again: what waits was not sent yet.
func (b Before) Left(again bool) bool { return b == "" || again && b != BeforeWaiting }

// BulkLine is a line of a list and the package made from it. Its documents and template are those of the list, except for
// Data.
type BulkLine struct {
	ListRow
	Wrong   []CellError         `json:"wrong,omitempty"`
	Package NewPackage          `json:"package"`
	Data    []map[string]string `json:"data,omitempty"` // for each document of the template, the values of its fields
	Who     string              `json:"who,omitempty"`  // hash of the documents and who signs them
	What    string              `json:"what,omitempty"` // hash of the whole package
	Before  Before              `json:"before,omitempty"`
}

// SentLines are lines that were sent: their Who, and the What of each.
type SentLines struct {
	Who   string   `json:"who"`
	Whats []string `json:"whats"`
	Draft string   `json:"draft,omitempty"` // what they became was not sent: they count only where this draft is, and can be sent from
}

// BulkList is a checked list, before any of it is sent.
type BulkList struct {
	File      string            `json:"file"` // base name
	Columns   []Column          `json:"columns"`
	Lines     []BulkLine        `json:"lines"`
	Wrong     []message.Message `json:"wrong,omitempty"` // problems of the list as a whole
	Common    NewPackage        `json:"common"`          // what all its packages share
	Documents []string          `json:"documents"`       // SHA-256 of each file, in the order in which they are sent
}

// ReadList checks a list; each line becomes a package like common. The first row has the headings. Texts of common may
// contain {heading}. order is the order of dates in figures, see ReadDay. No other code checks lists.
func ReadList(file string, rows []ListRow, common NewPackage, documents []string, now time.Time, order string) BulkList {
	l := BulkList{File: file, Common: common, Documents: documents}
	if len(rows) < 2 {
		l.Wrong = append(l.Wrong, message.ListEmpty(file))
		return l
	}
	l.match(rows[0].Cells)
	if code, text := CheckSigners(common.Signers); code != "" && code != CodeMissing {
		l.Wrong = append(l.Wrong, text)
	}
	b := builder{BulkList: &l, now: now, order: order}
	if hole := b.unknownHole(); hole != "" {
		l.Wrong = append(l.Wrong, b.unfilled(hole))
	}
	seen := map[string]int{}
	for _, row := range rows[1:] {
		more := len(row.Cells) > len(l.Columns)
		row.Cells = append(slices.Clone(row.Cells), make([]string, max(0, len(l.Columns)-len(row.Cells)))...)
		line := b.line(row)
		if row.Hidden {
			line.Wrong = append(line.Wrong, CellError{-1, message.ListLineHidden()})
		}
		if more { // usually an unquoted comma in a cell, which shifts every cell after it
			line.Wrong = append(line.Wrong, CellError{-1, message.ListTooManyCells()})
		}
		if first, twice := seen[line.What]; twice && len(line.Wrong) == 0 {
			line.Wrong = append(line.Wrong, CellError{-1, message.ListLineTwice(first)})
		} else if !twice {
			seen[line.What] = row.Line
		}
		l.Lines = append(l.Lines, line)
	}
	return l
}

// Left are the lines that can be sent: those not sent before, or with again, all but those that wait in another list.
func (l BulkList) Left(again bool) (left []BulkLine) {
	for _, line := range l.Lines {
		if line.Left(again) {
			left = append(left, line)
		}
	}
	return left
}

// Left reports whether a line is to be sent.
func (line BulkLine) Left(again bool) bool {
	return len(line.Wrong) == 0 && line.Before.Left(again)
}

// Faulty are the lines that cannot be sent as they are.
func (l BulkList) Faulty() []BulkLine {
	return slices.DeleteFunc(slices.Clone(l.Lines), func(line BulkLine) bool { return len(line.Wrong) == 0 })
}

// match determines what the columns contain.
func (l *BulkList) match(cells []string) {
	roles := map[string]string{}
	fields := map[string]bool{}
	if t := l.Common.Template; t != nil {
		for _, r := range t.Roles {
			roles[folded(r.Role)] = r.Role
		}
		for _, d := range t.Documents {
			for _, f := range d.Fields {
				fields[folded(f.Name)], fields[folded(f.ID)] = true, true
			}
		}
	}
	delete(fields, "") // a field may lack a name, and a heading may lack letters: "#"
	for _, head := range cells {
		c := Column{Head: head}
		if utf8.RuneCountInString(head) > MaxCell {
			l.Wrong = append(l.Wrong, message.ListCellLong(MaxCell))
		}
		whole := folded(head)
		name := whole
		if bare := strings.TrimRight(whole, "0123456789"); bare != "" {
			if n, err := strconv.Atoi(whole[len(bare):]); err == nil && n > 0 {
				name, c.Person = strings.TrimSpace(bare), strconv.Itoa(n)
			}
		}
		c.Kind = kinds[name]
		for role, called := range roles { // "Tenant: e-mail" and "E-mail of tenant", in any language, are "tenant" plus a known heading
			if c.Kind != "" || role == "" {
				break
			}
			before, ok1 := strings.CutPrefix(whole, role+" ")
			after, ok2 := strings.CutSuffix(whole, " "+role)
			if kind := kinds[before]; ok1 && isPerson(kind) {
				c.Kind, c.Person = kind, called
			} else if kind := kinds[after]; ok2 && isPerson(kind) {
				c.Kind, c.Person = kind, called
			}
		}
		if c.Person == "1" || !isPerson(c.Kind) {
			c.Person = ""
		}
		if c.Kind == "" && fields[whole] {
			c.Kind = ColumnField
		}
		l.Columns = append(l.Columns, c)
	}
	l.settleNames()
	email := false
	for i, c := range l.Columns {
		email = email || c.Kind == ColumnEmail
		same := func(x Column) bool {
			return x.Kind == c.Kind && x.Person == c.Person && (c.Kind != ColumnField || folded(x.Head) == folded(c.Head))
		}
		if c.Kind != ColumnOther && c.Kind != ColumnCC && c.Kind != ColumnBCC && slices.ContainsFunc(l.Columns[:i], same) {
			l.Wrong = append(l.Wrong, message.ListColumnTwice(c.Head))
		}
	}
	if !email {
		l.Wrong = append(l.Wrong, message.ListWithoutEmail())
	}
}

func isPerson(k ColumnKind) bool {
	return slices.Contains([]ColumnKind{ColumnName, ColumnFirst, ColumnLast, ColumnEmail, ColumnRole}, k)
}

// settleNames decides what "Name" means: beside a first name the last name, and beside a last name the first ("Vorname,
// Name", "Nombre, Apellidos"). Beside both it is something else, such as a company's name.
func (l *BulkList) settleNames() {
	has := func(kind ColumnKind, person string) bool {
		return slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Kind == kind && c.Person == person })
	}
	for i := range l.Columns {
		c := &l.Columns[i]
		if c.Kind != ColumnName {
			continue
		}
		switch first, last := has(ColumnFirst, c.Person), has(ColumnLast, c.Person); {
		case first && !last:
			c.Kind = ColumnLast
		case last && !first:
			c.Kind = ColumnFirst
		case first && last:
			c.Kind, c.Person = ColumnOther, ""
		}
	}
}

// builder makes packages from the lines of a list.
type builder struct {
	*BulkList
	now   time.Time
	order string
}

// holes are the placeholders that texts may contain.
func (b builder) holes() (list []string) {
	for _, c := range b.Columns {
		if c.Head != "" {
			list = append(list, "{"+c.Head+"}")
		}
	}
	return append(list, HotPlaceholders()...)
}

// called returns the columns that a placeholder may mean. It can be filled only if there is exactly one.
func (b builder) called(name string) (at []int) {
	for i, c := range b.Columns {
		if head := folded(c.Head); head != "" && head == folded(name) {
			at = append(at, i)
		}
	}
	return at
}

// unfilled says why a placeholder cannot be filled.
func (b builder) unfilled(hole string) message.Message {
	if at := b.called(hole); len(at) > 1 {
		return message.ListColumnTwice(b.Columns[at[1]].Head)
	}
	return message.PatternUnknown(hole, b.holes())
}

// fill fills the placeholders of a text from a row and from what is available everywhere.
func (b builder) fill(text string, row ListRow) (filled, unknown string) {
	document := ""
	if len(b.Common.Files) > 0 {
		document = b.Common.Files[0]
	}
	plain := hotHoles(document, b.now)
	return fillHoles(text, func(name string) (string, bool) {
		switch at := b.called(name); len(at) {
		case 0:
			return plain(name)
		case 1:
			return row.Cells[at[0]], true
		default:
			return "", false
		}
	})
}

func (b builder) unknownHole() (hole string) {
	none := ListRow{Cells: make([]string, len(b.Columns))}
	texts := []string{b.Common.Name, b.Common.Message}
	if b.Common.Template != nil {
		for _, d := range b.Common.Template.Documents {
			texts = append(texts, slices.Sorted(maps.Values(d.Data))...)
		}
	}
	for _, text := range texts {
		_, unknown := b.fill(text, none)
		hole = cmp.Or(hole, unknown)
	}
	return hole
}

// line makes the package of a row, with its errors.
func (b builder) line(row ListRow) BulkLine {
	out := BulkLine{ListRow: row}
	wrong := func(column int, text message.Message) { out.Wrong = append(out.Wrong, CellError{column, text}) }
	p := b.Common
	p.Files, p.Template, p.Signers, p.Recipients = nil, nil, nil, slices.Clone(b.Common.Recipients)
	members := map[string]json.RawMessage{}
	if HasExternalData(p.ExternalData) {
		if members = ExternalMembers(p.ExternalData); members == nil {
			members = map[string]json.RawMessage{"value": p.ExternalData}
		}
		members = maps.Clone(members)
	}
	p.Name, _ = b.fill(p.Name, row)
	p.Message, _ = b.fill(p.Message, row)
	data := b.commonData(row)
	filled := func(i int, text string) string {
		text, unknown := b.fill(text, row)
		if unknown != "" {
			wrong(i, b.unfilled(unknown))
		}
		return text
	}
	for i, c := range b.Columns {
		text := row.Cells[i]
		if isSheetError(text) {
			wrong(i, message.ListCellError(text))
			continue
		}
		if utf8.RuneCountInString(text) > MaxCell {
			wrong(i, message.ListCellLong(MaxCell))
			continue
		}
		if text == "" {
			continue
		}
		switch c.Kind {
		case ColumnPackage:
			p.Name = filled(i, text)
		case ColumnMessage:
			p.Message = filled(i, text)
		case ColumnReference:
			members["reference"], _ = json.Marshal(text)
		case ColumnDue:
			day, ok := ReadDay(strings.TrimSuffix(text, " 00:00"), b.now, b.order, 1)
			if p.Due = day.AddDate(0, 0, 1).Add(-time.Second); !ok {
				wrong(i, message.ListDateUnread(text))
				p.Due = time.Time{}
			} else if DuePassed(p.Due, b.now) {
				wrong(i, message.DueDatePassed())
			}
		case ColumnCC, ColumnBCC:
			people := ReadPeople(text)
			if len(people) == 0 {
				wrong(i, message.CopyAddress(text))
			}
			p.Recipients = append(p.Recipients, CopyTo(people, c.Kind == ColumnBCC)...)
		case ColumnField:
			b.setField(data, c.Head, text)
		}
	}
	if p.ExternalData = nil; len(members) > 0 {
		p.ExternalData, _ = json.Marshal(members)
	}
	p.Signers = b.signers(row, wrong)
	if t := b.Common.Template; t != nil {
		signers, left, open := t.Cast(p.Signers)
		for _, s := range left {
			wrong(-1, message.ListRoleUnknown(s.Role))
		}
		for _, role := range open {
			wrong(-1, message.ListRoleOpen(role))
		}
		p.Signers = signers
		if empty := WithData(t, data).EmptyFields(); len(empty) > 0 && !p.EmptyFields {
			at := slices.IndexFunc(b.Columns, func(c Column) bool { return c.Kind == ColumnField && folded(c.Head) == folded(empty[0]) })
			wrong(at, message.TemplateFieldsEmpty(empty))
		}
	}
	b.judge(row, p, wrong)
	out.Package, out.Data = p, data
	out.Who, out.What = b.marks(p, data)
	return out
}

// judge adds the errors that any package can have in its people and its date, at the cell that causes them.
func (b builder) judge(row ListRow, p NewPackage, wrong func(int, message.Message)) {
	at := func(email string, kinds ...ColumnKind) int {
		for i, c := range slices.Backward(b.Columns) { // of two, the second one is too many
			if slices.Contains(kinds, c.Kind) && strings.Contains(strings.ToLower(row.Cells[i]), strings.ToLower(email)) {
				return i
			}
		}
		return -1
	}
	switch code, text := CheckSigners(p.Signers); {
	case !b.has(ColumnEmail), code == CodeForm: // already reported
	case code == CodeMissing:
		wrong(at("", ColumnEmail), text)
	case code != "":
		twice := map[string]int{}
		for _, s := range p.Signers {
			email := strings.ToLower(s.Email)
			if twice[email]++; twice[email] == 2 {
				wrong(at(email, ColumnEmail), text)
			}
		}
	}
	for i, code := range CheckCopies(p.Recipients, p.Signers) {
		if code != "" {
			wrong(at(p.Recipients[i].Email, ColumnCC, ColumnBCC), p.Recipients[i].Wrong(code))
		}
	}
	if !b.has(ColumnDue) && DuePassed(p.Due, b.now) {
		wrong(-1, message.DueDatePassed())
	}
}

func (b builder) has(kind ColumnKind) bool {
	return slices.ContainsFunc(b.Columns, func(c Column) bool { return c.Kind == kind })
}

// signers are a row's signers, in the order of their columns' numbers or roles, followed by those who sign every package.
func (b builder) signers(row ListRow, wrong func(int, message.Message)) (list []Signer) {
	var persons []string
	for _, c := range b.Columns {
		if isPerson(c.Kind) && !slices.Contains(persons, c.Person) {
			persons = append(persons, c.Person)
		}
	}
	slices.SortStableFunc(persons, func(x, y string) int {
		n, _ := strconv.Atoi(cmp.Or(x, "1"))
		m, _ := strconv.Atoi(cmp.Or(y, "1"))
		return n - m
	})
	for _, person := range persons {
		s, nameAt, emailAt, any := Signer{}, -1, -1, false
		for i, c := range b.Columns {
			if !isPerson(c.Kind) || c.Person != person {
				continue
			}
			text := row.Cells[i]
			any = any || text != "" && c.Kind != ColumnRole
			switch c.Kind {
			case ColumnName:
				n := splitName(text)
				s.FirstName, s.LastName, nameAt = n.FirstName, n.LastName, i
			case ColumnFirst:
				s.FirstName, nameAt = text, i
			case ColumnLast:
				s.LastName, nameAt = text, i
			case ColumnRole:
				s.Role = text
				if text != "" && b.Common.Template == nil {
					wrong(i, message.ListRoleUnknown(text))
				}
			case ColumnEmail:
				s.Email, emailAt = text, i
			}
		}
		if !any {
			continue
		}
		if people := ReadPeople(s.Email); len(people) == 1 { // "Ana Ruiz <ana@example.com>", or only the address
			if s.Email = people[0].Email; s.fullName() == "" {
				s.FirstName, s.LastName = people[0].FirstName, people[0].LastName
			}
		}
		if !IsAddress(s.Email) {
			wrong(emailAt, message.EmailIncomplete(cmp.Or(s.fullName(), s.Email)))
		}
		switch {
		case s.fullName() != "":
		case nameAt >= 0:
			wrong(nameAt, message.ListNameMissing())
		default: // a list of addresses alone
			s.FirstName, _, _ = strings.Cut(s.Email, "@")
		}
		if _, err := strconv.Atoi(cmp.Or(person, "1")); err != nil {
			s.Role = person
		}
		list = append(list, s)
	}
	return append(list, b.Common.Signers...)
}

// commonData are the values that the list sets for the template's fields, filled in for a row.
func (b builder) commonData(row ListRow) (data []map[string]string) {
	if b.Common.Template == nil {
		return nil
	}
	for _, d := range b.Common.Template.Documents {
		values := map[string]string{}
		for id, text := range d.Data {
			values[id], _ = b.fill(text, row)
		}
		data = append(data, values)
	}
	return data
}

func (b builder) setField(data []map[string]string, head, text string) {
	for i, d := range b.Common.Template.Documents {
		for _, f := range d.Fields {
			if name := folded(head); folded(f.Name) == name || folded(f.ID) == name {
				data[i][f.ID] = text
			}
		}
	}
}

// WithData is t with other values for its documents' fields.
func WithData(t *Template, data []map[string]string) *Template {
	t = t.Clone()
	for i := range data {
		t.Documents[i].Data = data[i]
	}
	return t
}

// marks are hashes that identify a line: who of the documents and signers, what of everything.
func (b builder) marks(p NewPackage, data []map[string]string) (who, what string) {
	p.Signers = slices.Clone(p.Signers)
	for i := range p.Signers {
		p.Signers[i].Email = strings.ToLower(p.Signers[i].Email)
	}
	who = markWho(b.Documents, b.Common.Template, p.Signers)
	return who, mark(who, p, data)
}

// Who is what BulkLine.Who would be of a line for d's package.
func (d Draft) Who() string {
	var documents []string
	for _, f := range d.Files {
		documents = append(documents, f.SHA256)
	}
	return markWho(documents, d.Template, d.Signers)
}

func markWho(documents []string, t *Template, signers []Signer) string {
	template := ""
	if t != nil {
		template = t.ID
	}
	return mark(slices.Sorted(slices.Values(documents)), template, addresses(signers))
}

// SameSigners reports whether the same people sign, in any order.
func SameSigners(a, b []Signer) bool { return slices.Equal(addresses(a), addresses(b)) }

func addresses(signers []Signer) (list []string) {
	for _, s := range signers {
		list = append(list, strings.ToLower(s.Email))
	}
	slices.Sort(list)
	return list
}

func mark(parts ...any) string {
	text, _ := json.Marshal(parts)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// isSheetError reports whether a cell contains a spreadsheet's error value.
func isSheetError(cell string) bool {
	return slices.Contains([]string{"#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#NV", "#BEZUG!", "#WERT!", "#ZAHL!",
		"#VALEUR!", "#NOM?", "#NOMBRE!", "#¡REF!", "#¡VALOR!", "#¿NOMBRE?", "#¡DIV/0!", "#¡NUM!"}, cell)
}

type BulkState string

const (
	BulkRunning BulkState = "running"
	BulkPaused  BulkState = "paused"
	BulkStopped BulkState = "stopped" // the remaining lines are not sent unless it is resumed
	BulkDone    BulkState = "done"    // nothing of it waits any more
)

// Bulk is a list being sent. Its lines are stored separately.
type Bulk struct {
	ID        string          `json:"id"` // also of the draft that holds what its packages share
	File      string          `json:"file"`
	Documents []string        `json:"documents"` // what is sent to all, as NewPackage.Titles
	Heads     []string        `json:"heads"`
	Lines     int             `json:"lines"`
	Faulty    int             `json:"faulty,omitempty"` // faulty lines, stored after those that can be sent, to show what is wrong with them
	Next      int             `json:"next"`             // how many lines have become packages
	State     BulkState       `json:"state"`
	Problem   message.Message `json:"problem,omitzero"` // why it was paused
	Created   time.Time       `json:"created"`
	Begins    time.Time       `json:"begins"`           // nothing is sent earlier
	Undone    bool            `json:"undone,omitempty"` // it was stopped before that
	Since     int             `json:"since,omitempty"`  // value of Next when sending last resumed
	Day       int             `json:"day,omitempty"`    // counted day since which it is stopped
	By        string          `json:"by,omitempty"`     // the account that must send it
	Home
}

// BulkResult is what became of a line.
type BulkResult struct {
	ListRow
	Name      string          `json:"name"`
	State     DraftState      `json:"state"` // empty until its turn comes
	PackageID string          `json:"package_id,omitempty"`
	Problem   message.Message `json:"problem,omitzero"`
}

// BulkProgress counts the lines of a list, faulty ones included, that were sent, were not sent, may have been sent, and are
// still to come.
type BulkProgress struct {
	Bulk
	Sent    int `json:"sent"`
	Wrong   int `json:"wrong"`
	Unknown int `json:"unknown"`
	Open    int `json:"open"`

	Forgotten bool `json:"forgotten,omitempty"` // its documents are not kept any more: it cannot be resumed
}

// Over reports whether nothing is left to send.
func (p BulkProgress) Over() bool {
	return p.State == BulkStopped || p.State == BulkDone && p.Open == 0
}

// WriteCSV writes a table so that Excel reads it as UTF-8, with a byte order mark, and whoever opens it is safe from its cells (Cell).
func WriteCSV(to io.Writer, table iter.Seq[[]string], comma byte) error {
	if _, err := io.WriteString(to, "\ufeff"); err != nil {
		return err
	}
	out := csv.NewWriter(to)
	out.Comma = rune(comma)
	for row := range table {
		safe := make([]string, len(row))
		for i, cell := range row {
			safe[i] = Cell(cell)
		}
		if err := out.Write(safe); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// BulkTable is a table of what became of each line of a list, beside the list's own cells.
func BulkTable(b Bulk, lines []BulkResult, words func(message.Message) string) [][]string {
	table := [][]string{append(slices.Clone(b.Heads), "line", "package", "state", "problem", "package_id")}
	unsent := string(BeforeWaiting)
	if b.State == BulkStopped {
		unsent = string(BulkStopped)
	}
	for _, x := range lines {
		cells := append(slices.Clone(x.Cells), make([]string, len(b.Heads))...)[:len(b.Heads)] // an unreadable line has no cells
		table = append(table, append(cells, strconv.Itoa(x.Line), x.Name, cmp.Or(string(x.State), unsent), words(x.Problem), x.PackageID))
	}
	return table
}
