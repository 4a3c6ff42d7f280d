package main

import (
	"archive/zip"
	"cmp"
	"debug/pe"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// softwareOpenGL are the files of an OpenGL in software for Windows, such as Mesa's, for screens whose driver has none: the
// opengl32.dll that MESA_DLL names, and what it needs of what lies beside it. None when MESA_DLL names nothing.
func softwareOpenGL() (files []string, err error) {
	first := os.Getenv("MESA_DLL")
	if first == "" {
		return nil, nil
	}
	if !strings.EqualFold(filepath.Base(first), "opengl32.dll") {
		return nil, fmt.Errorf("MESA_DLL names %s, and not a file called opengl32.dll", first)
	}
	beside, err := os.ReadDir(filepath.Dir(first))
	if err != nil {
		return nil, fmt.Errorf("find MESA_DLL: %w", err)
	}
	files = []string{first}
	for at := 0; at < len(files); at++ {
		needs, err := imports(files[at])
		if err != nil {
			return nil, err
		}
		for _, library := range needs {
			i := slices.IndexFunc(beside, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), library) })
			if i < 0 {
				continue // Windows has it
			}
			if file := filepath.Join(filepath.Dir(first), beside[i].Name()); !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// imports are the libraries that a library for 64-bit Windows needs.
func imports(path string) ([]string, error) {
	library, err := pe.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s is no library for Windows: %w", path, err)
	}
	defer library.Close()
	if library.Machine != pe.IMAGE_FILE_MACHINE_AMD64 || library.Characteristics&pe.IMAGE_FILE_DLL == 0 {
		return nil, fmt.Errorf("%s is no library for 64-bit Windows on Intel's and AMD's processors", path)
	}
	// debug/pe lists functions, as name:library; its list of libraries is empty.
	symbols, err := library.ImportedSymbols()
	if err != nil {
		return nil, fmt.Errorf("read what %s needs: %w", path, err)
	}
	var names []string
	for _, s := range symbols {
		_, name, _ := strings.Cut(s, ":")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// openGLNotices are the licences of softwareOpenGL: Mesa's own, and those that lie beside its library.
func (p product) openGLNotices(library string) (module, error) {
	files := []string{p.packaging("licences", "mesa.txt")}
	for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "licen[cs]e*"} {
		more, err := filepath.Glob(filepath.Join(filepath.Dir(library), pattern))
		if err != nil {
			return module{}, err
		}
		files = append(files, more...)
	}
	m := module{path: "Mesa (Windows, in the folder opengl)"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return module{}, fmt.Errorf("find the licence of Mesa: %w", err)
		}
		m.texts = append(m.texts, tidy(text))
	}
	return m, nil
}

// windowsZip packs the program and its OpenGL in software as they are installed, for whoever takes no installer.
func (p product) windowsZip(program, notices string, opengl []string, name string) error {
	out, err := os.Create(filepath.Join(p.out, name))
	if err != nil {
		return err
	}
	defer out.Close()
	z := zip.NewWriter(out)
	add := func(name, file string) error {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: path.Join("Countersign", name), Method: zip.Deflate, Modified: p.made})
		if err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	}
	err = cmp.Or(add("Countersign.exe", program), add("NOTICES.txt", notices))
	for _, file := range opengl {
		err = cmp.Or(err, add("opengl/"+strings.ToLower(filepath.Base(file)), file))
	}
	return errors.Join(err, z.Close(), out.Close())
}

// stageOpenGL copies files to where the installer's compiler takes them from, and returns that folder, "" for none.
func (p product) stageOpenGL(files []string) (string, error) {
	dir := filepath.Join(p.out, "windows", "opengl")
	if err := os.RemoveAll(dir); err != nil || len(files) == 0 {
		return "", err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := write(filepath.Join(dir, strings.ToLower(filepath.Base(file))), content); err != nil {
			return "", err
		}
	}
	return dir, nil
}
