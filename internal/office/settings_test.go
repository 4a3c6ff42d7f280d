package office_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
)

// found is the finding for a field.
func found(all []office.FieldError, field string) (f office.FieldError) {
	if i := slices.IndexFunc(all, func(f office.FieldError) bool { return f.Field == field }); i >= 0 {
		f = all[i]
	}
	return f
}

func TestEverySettingIsJudgedOnce(t *testing.T) {
	folder, judged := t.TempDir(), map[string]bool{}
	for _, c := range settingstest.Cases(folder) {
		judged[c.Field] = true
		t.Run(c.Name(), func(t *testing.T) {
			s := c.With(folder)
			if f := found(s.Check(), c.Field); f.Code != c.Code || c.Wrong() == f.Text.IsZero() {
				t.Fatalf("found %+v, want %q", f, c.Code)
			}
			if c.Wrong() {
				return
			}
			k := s.Normal()
			if again := k.Normal(); c.Is(k) != c.Kept || c.Is(again) != c.Kept || len(k.Check()) > 0 {
				t.Errorf("kept is %q, then %q, want %q; %v", c.Is(k), c.Is(again), c.Kept, k.Check())
			}
		})
	}
	for field := range judgeable {
		if !judged[field] {
			t.Errorf("no case for %s", field)
		}
	}
}

// judgeable are all fields except secrets and booleans.
var judgeable = map[string]bool{
	office.FieldAuthURL: true, office.FieldBaseURL: true, office.FieldClientID: true, office.FieldScopes: true, office.FieldHeader: true,
	office.FieldRedirect: true, office.FieldRedirectURI: true, office.FieldTunnel: true, office.FieldNgrokDomain: true,
	office.FieldNgrokConnect: true, office.FieldNgrokCA: true, office.FieldPublicURL: true, office.FieldListen: true, office.FieldSaveTo: true,
	office.FieldTemplate: true, office.FieldNotify: true, office.FieldQuietFrom: true, office.FieldKeepEvents: true,
	office.FieldTheme: true, office.FieldLanguage: true,
	office.FieldContrast: true, office.FieldTextSize: true, office.FieldMotion: true,
}

func TestQuietHoursAreTwoTimes(t *testing.T) {
	c := settingstest.Case{}
	for _, x := range []struct {
		from, to, kept string
		field          string
		code           office.Code
	}{
		{"22:00", "7:00", "22:00 07:00", "", ""},
		{"22:00", "", "", office.FieldQuietTo, office.CodeMissing},
		{"", "7:00", "", office.FieldQuietFrom, office.CodeMissing},
		{"ten", "07:00", "", office.FieldQuietFrom, office.CodeForm},
	} {
		s := c.Settings(t.TempDir())
		s.QuietFrom, s.QuietTo = x.from, x.to
		bad := s.Check()
		if len(bad) > 1 || found(bad, x.field).Code != x.code {
			t.Errorf("%q to %q: %+v", x.from, x.to, bad)
		}
		if n := s.Normal(); x.code == "" && n.QuietFrom+" "+n.QuietTo != x.kept {
			t.Errorf("kept as %q to %q", n.QuietFrom, n.QuietTo)
		}
	}
}

func TestQuietHoursMayGoPastMidnight(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 30, 0, time.UTC) }
	for hours, quiet := range map[[2]string]map[time.Time]bool{
		{"22:00", "07:30"}: {at(21, 59): false, at(22, 0): true, at(3, 0): true, at(7, 29): true, at(7, 30): false, at(12, 0): false},
		{"12:15", "13:00"}: {at(12, 14): false, at(12, 15): true, at(12, 59): true, at(13, 0): false, at(3, 0): false},
		{"07:00", "07:00"}: {at(7, 0): false, at(12, 0): false},
		{"", "07:00"}:      {at(3, 0): false},
		{"22:00", ""}:      {at(23, 0): false},
	} {
		s := office.Settings{NotifySettings: office.NotifySettings{QuietFrom: hours[0], QuietTo: hours[1]}}
		for when, want := range quiet {
			if s.QuietAt(when) != want {
				t.Errorf("from %q to %q it is quiet at %v: %v", hours[0], hours[1], when, !want)
			}
		}
	}
}

func TestAFolderThatSendsIsJudgedAndNamesItsPackages(t *testing.T) {
	ana := office.Signer{FirstName: "Ana", Email: "ana@example.com"}
	is := func(field string, code office.Code, text message.Message) office.FieldError {
		return office.FieldError{Field: field, Code: code, Text: text}
	}
	good := office.HotFolder{Path: t.TempDir(), Signers: []office.Signer{ana}}
	for name, c := range map[string]struct {
		change func(f *office.HotFolder)
		want   office.FieldError // zero for none
	}{
		"good":        {func(f *office.HotFolder) { f.Name, f.DueDays = "{document} {date}", 365 }, office.FieldError{}},
		"no folder":   {func(f *office.HotFolder) { f.Path = " " }, is(office.FieldHotPath, office.CodeMissing, message.SendFolderMissing())},
		"half a path": {func(f *office.HotFolder) { f.Path = "In" }, is(office.FieldHotPath, office.CodePath, message.SendFolderPath())},
		"nobody":      {func(f *office.HotFolder) { f.Signers = nil }, is(office.FieldHotSigners, office.CodeMissing, message.NoSigner())},
		"no address": {func(f *office.HotFolder) { f.Signers[0].Email = "ana" }, is(office.FieldHotSigners, office.CodeForm,
			message.EmailIncomplete("Ana"))},
		"twice": {func(f *office.HotFolder) { f.Signers = append(f.Signers, office.Signer{Email: " ANA@example.com "}) },
			is(office.FieldHotSigners, office.CodeConflict, message.SignerTwice("ANA@example.com"))},
		"an unknown field": {func(f *office.HotFolder) { f.Name = "{document} {signer}" },
			is(office.FieldHotName, office.CodeForm, message.PatternUnknown("{signer}", office.HotPlaceholders()))},
		"half a field": {func(f *office.HotFolder) { f.Name = "{document} {" },
			is(office.FieldHotName, office.CodeForm, message.PatternUnknown("{}", office.HotPlaceholders()))},
		"due before":   {func(f *office.HotFolder) { f.DueDays = -1 }, is(office.FieldHotDue, office.CodeRange, message.SendFolderDue(365))},
		"due in years": {func(f *office.HotFolder) { f.DueDays = 366 }, is(office.FieldHotDue, office.CodeRange, message.SendFolderDue(365))},
	} {
		f := good
		f.Signers = slices.Clone(good.Signers)
		c.change(&f)
		if bad := f.Normal().Check(); len(bad) > 1 || (len(bad) == 1) != (c.want != office.FieldError{}) || len(bad) == 1 && bad[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, bad, c.want)
		}
	}
	now := time.Date(2026, 12, 31, 23, 0, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct{ name, file, want string }{
		{"", "Lease.v2.pdf", "Lease.v2"}, {"", ".pdf", ".pdf"},
		{"{document}, {date}, {month}, {year}", "Lease.pdf", "Lease, 2026-12-31, 2026-12, 2026"},
	} {
		f := good
		f.Name, f.DueDays, f.Message = c.name, 2, "Please."
		path := filepath.Join(f.Path, c.file)
		p := f.Package(path, now)
		due := time.Date(2027, 1, 2, 23, 59, 0, 0, now.Location())
		if p.Name != c.want || !p.Due.Equal(due) || p.Message != "Please." || !slices.Equal(p.Files, []string{path}) {
			t.Errorf("%q of %s: %+v", c.name, c.file, p)
		}
		if f.DueDays = 0; !f.Package(path, now).Due.IsZero() {
			t.Error("it is due, and nobody said so")
		}
	}
}
