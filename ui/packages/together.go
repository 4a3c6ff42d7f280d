package packages

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
)

// What can be done with the saved files of several packages at once.

// askExport copies the saved files of packages into a folder that the person chooses. without is how many others have none.
func (s *Screen) askExport(ids []string, without int) {
	browse.Folder(s.env, "", func(folder string) {
		async.Then(s.env.Work, func(ctx context.Context) (office.Exported, error) { return s.env.Office.Export(ctx, ids, folder) },
			func(x office.Exported, err error) {
				if err != nil {
					s.env.Notice(i18n.Error(err))
					return
				}
				s.env.Notice(howExported(x, filepath.Base(folder), len(ids)-x.Packages+without))
			})
	})
}

// howExported says what was copied and what was not. without is how many packages have no saved files.
func howExported(x office.Exported, folder string, without int) string {
	what := i18n.V{"Folder": folder, "Files": lang.N("{{.PluralCount}} files", x.Files), "Done": i18n.Number(x.Copied)}
	said := []string{lang.L("Copied to “{{.Folder}}”: {{.Files}}.", what)}
	if x.Copied < x.Files {
		said[0] = lang.L("Copied to “{{.Folder}}”: {{.Done}} of {{.Files}}.", what)
	}
	if x.Lost > 0 {
		said = append(said, lang.N("{{.PluralCount}} files are no longer where they were saved.", x.Lost))
	}
	if !x.Problem.IsZero() {
		said = append(said, i18n.Message(x.Problem))
	}
	if without > 0 {
		said = append(said, lang.N("{{.PluralCount}} packages have no saved files.", without))
	}
	return strings.Join(said, " ")
}

// mostFolders is how many folders are opened beside each other.
const mostFolders = 3

// openFolders opens the folders in which packages are saved, or the one that all of them lie in where they are many.
func (s *Screen) openFolders(ids []string) {
	async.Then(s.env.Work, func(context.Context) ([]string, error) { return s.foldersOf(ids) }, func(folders []string, err error) {
		switch {
		case err != nil:
			s.env.Notice(i18n.Error(err))
		case len(folders) == 0:
			s.env.Notice(lang.L("The files are no longer where they were saved."))
		case len(folders) > mostFolders:
			s.env.OpenFile(common(folders))
		default:
			for _, folder := range folders {
				s.env.OpenFile(folder)
			}
		}
	})
}

// foldersOf are the folders with saved files of packages, each once. It runs beside the window's goroutine.
func (s *Screen) foldersOf(ids []string) (folders []string, err error) {
	for _, id := range ids {
		row, _, err := s.env.Office.Package(id)
		if err != nil {
			return nil, err
		}
		for _, f := range row.Files {
			folder := filepath.Dir(f.Path)
			if f.State == office.JobDone && !slices.Contains(folders, folder) && s.env.System.Exists(f.Path) {
				folders = append(folders, folder)
			}
		}
	}
	return folders, nil
}

// common is the deepest folder that others lie in, or the first of them where they share none.
func common(folders []string) string {
	for folder := folders[0]; ; folder = filepath.Dir(folder) {
		if filepath.Dir(folder) == folder {
			return folders[0]
		}
		if !slices.ContainsFunc(folders, func(other string) bool { return !within(other, folder) }) {
			return folder
		}
	}
}

// within says whether a folder is another one, or in it.
func within(folder, other string) bool {
	rel, err := filepath.Rel(other, folder)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
