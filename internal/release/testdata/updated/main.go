// Command updated stands in for the program in the test of an update on Windows. Asked to update, it starts the installer as
// the program does, works a little longer, and ends; asked to quit, it waits until it has ended; otherwise it notes in the
// person's folder that it was started.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/update"
)

var version string // set by the linker

func main() {
	if len(os.Args) == 3 && os.Args[1] == "update" {
		if kind := update.Here(false); kind != update.Installer {
			fail(fmt.Errorf("it was not installed: %q", kind))
		}
		installer, err := os.ReadFile(os.Args[2])
		if err != nil {
			fail(err)
		}
		held, err := update.Hold(os.Args[2], update.File{Size: int64(len(installer)), SHA256: fmt.Sprintf("%x", sha256.Sum256(installer))})
		if err != nil {
			fail(err)
		}
		if err := update.Start(held, []string{"--data", `C:\an office`}); err != nil {
			fail(err)
		}
		time.Sleep(3 * time.Second) // makes the installer wait
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "quit" { // it ends by itself
		time.Sleep(4 * time.Second)
		return
	}
	note := fmt.Sprintf("%s %s", version, strings.Join(os.Args[1:], "|"))
	if err := os.WriteFile(filepath.Join(os.Getenv("USERPROFILE"), "came-back.txt"), []byte(note), 0o600); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
