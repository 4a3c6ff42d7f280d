// Command gen draws Countersign's icons and writes its sample documents, the Go functions of its messages, the templates for
// the Group Policy editor of Windows and the tables of JSON fields in the manual. `go generate ./assets` runs it inside assets/;
// the same input gives the same bytes, so its output is committed and a change shows up as a difference. It is not part of the
// program.
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	if err := run("."); err != nil {
		log.Fatalf("gen: %v", err)
	}
}

func run(dir string) error {
	files := map[string][]byte{"icon.svg": programIcon(false).svg()}
	var ico []frame
	pictures := map[int][]byte{}
	for _, size := range []int{512, 256, 128, 64, 48, 32, 22} {
		data, err := programIcon(size <= 32).png(size)
		if err != nil {
			return err
		}
		files[fmt.Sprintf("icons/icon-%d.png", size)] = data
		pictures[size] = data
		if size <= 256 && size != 22 && size != 128 {
			ico = append(ico, frame{size, data})
		}
	}
	small, err := programIcon(true).png(16)
	if err != nil {
		return err
	}
	files["icons/icon.ico"] = icoFile(append(ico, frame{16, small}))
	files["packaging/macos/countersign.icns"] = icnsFile(pictures)
	installer := "packaging/windows/installer-"
	if files[installer+"welcome.bmp"], files[installer+"head.bmp"], err = installerPictures(); err != nil {
		return err
	}
	for name, icon := range trayIcons() {
		for _, size := range []int{22, 44, 64} {
			data, err := icon.png(size)
			if err != nil {
				return err
			}
			files[fmt.Sprintf("icons/tray-%s-%d.png", name, size)] = data
		}
	}
	for name, doc := range samples() {
		data, err := doc.pdf()
		if err != nil {
			return err
		}
		files["samples/"+name] = data
	}
	english, err := os.ReadFile(filepath.Join(dir, "messages/en.json"))
	if err != nil {
		return err
	}
	if files["../internal/message/catalogue.go"], err = messageFunctions(english); err != nil {
		return err
	}
	if files["docs/admin.md"], err = manual(dir); err != nil {
		return err
	}
	templates, err := policyTemplates()
	if err != nil {
		return err
	}
	maps.Copy(files, templates)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
