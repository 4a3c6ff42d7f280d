package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyALibraryForWindowsIsTakenForOpenGL(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{"opengl32.dll": "<html>Not found</html>", "mesa.dll": "MZ"} {
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600))
	}
	for path, says := range map[string]string{
		"opengl32.dll":         "is no library for Windows",
		"mesa.dll":             "not a file called opengl32.dll",
		"missing/opengl32.dll": "find MESA_DLL",
	} {
		t.Setenv("MESA_DLL", filepath.Join(dir, path))
		if files, err := softwareOpenGL(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %q, %v", path, files, err)
		}
	}
	t.Setenv("MESA_DLL", "")
	if files, err := softwareOpenGL(); err != nil || len(files) > 0 {
		t.Errorf("without one: %q, %v", files, err)
	}
}
