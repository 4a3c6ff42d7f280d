package opengl

/*
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef PROC (WINAPI *finder)(LPCSTR);

// Fyne's binding of OpenGL calls this one function of opengl32.dll by its name, which would have Windows load the system's
// file when the program starts, before anybody could choose another. Here it is looked for when it is first called. The
// linker finds these symbols before it comes to the library's.
static PROC WINAPI find(LPCSTR name) {
	static finder real;
	if (!real) {
		HMODULE library = LoadLibraryA("opengl32.dll"); // the one that is loaded, if any
		if (library) real = (finder)(void *)GetProcAddress(library, "wglGetProcAddress");
	}
	return real ? real(name) : NULL;
}
finder __imp_wglGetProcAddress = find;
#pragma GCC diagnostic ignored "-Wattributes"
PROC WINAPI wglGetProcAddress(LPCSTR name) { return find(name); }
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// library is the OpenGL in software, empty where there is none.
func library() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(program), "opengl", "opengl32.dll")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// Available says whether this computer can draw in software.
func Available() bool { return library() != "" }

// Load makes the OpenGL in software that of this process. Whoever asks Windows for opengl32.dll from now on gets the file
// that is loaded already, Windows' own functions for windows included.
func Load() error {
	path := library()
	if path == "" {
		return fmt.Errorf("%w, and there is none in software beside the program", ErrNone)
	}
	// What it needs itself lies beside it.
	if _, err := windows.LoadLibraryEx(path, 0, windows.LOAD_WITH_ALTERED_SEARCH_PATH); err != nil {
		return fmt.Errorf("%w, and the one in %s cannot be loaded: %w", ErrNone, path, err)
	}
	return nil
}
