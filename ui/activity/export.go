package activity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
	"countersign/ui/system"
)

// pressExport asks for a file, or stops the running export.
func (s *Screen) pressExport() {
	if s.stop != nil {
		s.stop()
		return
	}
	name := "countersign-" + s.env.Now().Format("2006-01-02") + ".csv"
	browse.Save(s.env, lang.L("Export as CSV…"), name, s.exportTo)
}

// exportTo writes all events to a file; replace says whether it may already exist.
func (s *Screen) exportTo(path string, replace bool) {
	s.Export(filepath.Base(path), func(fill func(io.Writer) error) error { return system.WriteFile(path, replace, fill) })
}

// Export lets write create a file of all events off the UI goroutine, and reports the result. Pressing the button again stops it.
func (s *Screen) Export(name string, write func(fill func(io.Writer) error) error) {
	s.stop = async.Then(s.env.Work, func(ctx context.Context) (n int, err error) {
		err = write(func(w io.Writer) error {
			n, err = writeEvents(ctx, w, s.office, s.env.Now().Location())
			return err
		})
		return n, err
	}, func(n int, err error) {
		s.stop = nil
		s.offerExport()
		switch {
		case errors.Is(err, context.Canceled):
			s.env.Notice(lang.L("The export was stopped. “{{.File}}” was not written.", i18n.V{"File": name}))
		case errors.Is(err, errNotRead):
			s.env.Notice(lang.L("Not all events could be read, so “{{.File}}” was not written.", i18n.V{"File": name}))
		case err != nil && n == 0, errors.Is(err, fs.ErrExist):
			s.env.Notice(lang.L("“{{.File}}” cannot be written there. Choose another folder.", i18n.V{"File": name}))
		case err != nil:
			s.env.Notice(lang.L("“{{.File}}” could not be written. Close it in other programs, check that there is room on the disk, and export again.", i18n.V{"File": name}))
		default:
			s.env.Notice(lang.N("{{.PluralCount}} events were exported.", n))
		}
	})
	s.offerExport()
}

// offerExport updates the button's label.
func (s *Screen) offerExport() {
	name, icon := lang.L("Export as CSV…"), fynetheme.DocumentSaveIcon()
	if s.stop != nil {
		name, icon = lang.L("Stop the export"), fynetheme.CancelIcon()
	}
	s.export.SetText(name)
	s.export.SetIcon(icon)
}

// errNotRead ends an export that failed to read the events rather than to write the file.
var errNotRead = errors.New("not all events could be read")

// writeEvents writes every event, newest first, page by page, as CSV (RFC 4180) for Excel in the window's language, with times in
// zone. It returns the number written.
func writeEvents(ctx context.Context, to io.Writer, from Office, zone *time.Location) (n int, err error) {
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(zone).Format(time.RFC3339)
	}
	var unread error
	rows := func(yield func([]string) bool) {
		if !yield([]string{"received", "happened", "kind", "package", "package_id", "event_id", "verified", "outcome", "reason", "processed", "came_again", "body"}) {
			return
		}
		cursor := office.Cursor("")
		for unread == nil {
			var page []office.EventRow
			if page, cursor, unread = from.Events(cursor, pageLength); unread != nil {
				unread = fmt.Errorf("%w: %w", errNotRead, unread)
				return
			}
			for _, e := range page {
				_, outcome := i18n.EventState(e.Event)
				if !yield([]string{stamp(e.Received), stamp(e.Time), i18n.EventKind(e.Event), e.Line.Package, e.PackageID, e.ID, "yes", outcome, i18n.Message(e.Reason),
					stamp(e.Handled), strconv.Itoa(e.Copies), string(e.Body)}) {
					return
				}
				n++
			}
			if cursor == "" {
				return
			}
			unread = ctx.Err()
		}
	}
	if err := office.WriteCSV(to, rows, office.Comma(cmp.Or(i18n.Code(), "en"))); err != nil {
		return n, fmt.Errorf("write the export: %w", err)
	}
	return n, unread
}
