//go:build linux

package e2e

import (
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// fileOpener is a desktop's way to open files that writes down what it is asked for, and with which token.
func fileOpener(t testing.TB) (path string, asked func() string) {
	t.Helper()
	bin := t.TempDir()
	log := filepath.Join(bin, "asked")
	script := "#!/bin/sh\nprintf '%s|%s\\n' \"$1\" \"$XDG_ACTIVATION_TOKEN\" >> '" + log + "'\n"
	harness.Must(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700))
	return "PATH=" + bin + ":" + os.Getenv("PATH"), func() string {
		b, err := os.ReadFile(log)
		if err != nil {
			return ""
		}
		return string(b)
	}
}

// signedOffer has a package of one document signed, and waits until people are told of it.
func signedOffer(o *harness.Office) (file string) {
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", "Offer", "--to", "Jan Weber <jan.weber@example.com>")
	o.Service.SignAll(o.Service.Named("Offer").ID)
	harness.Eventually(o.T, "people are told that everyone has signed", func() bool {
		for _, n := range o.Desk.Notes.List() {
			if strings.HasPrefix(n.Title, "Everyone has signed") {
				return true
			}
		}
		return false
	})
	return filepath.Join(o.Folder, "Offer - Offer 2026-118.pdf")
}

func TestAPressOnANotificationLeadsToItsPackageAndFile(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	desk.Notes.ShowButtons()
	tray := harness.ServeTray(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	path, asked := fileOpener(t)
	o.More = append(o.More, path)
	o.Setup()
	o.Open()
	w := desk.Window("Countersign")
	w.Drawn()
	tray.Item()
	o.MustLogin()
	o.Registered()
	file := signedOffer(o)

	notes := desk.Notes.List()
	if last := notes[len(notes)-1]; last.Actions != "default\nShow\nopen\nOpen\nfolder\nShow in folder" {
		t.Errorf("offered %q", last.Actions)
	}
	w.Active().Keys("ctrl+w") // hidden in the tray; the first time it says so
	w.Still()
	w.Keys("Return")
	harness.Eventually(t, "the window is gone", func() bool { return len(desk.Visible("Countersign")) == 0 })
	desk.Notes.Press(t, "Everyone has signed", "open", "a token")
	harness.Eventually(t, "the file is opened", func() bool { return strings.Contains(asked(), file+"|a token\n") })
	desk.Notes.Press(t, "Everyone has signed", "folder", "")
	harness.Eventually(t, "the folder is opened", func() bool { return strings.HasSuffix(asked(), filepath.Dir(file)+"|a token\n") })
	if len(desk.Visible("Countersign")) != 0 {
		t.Error("the window came up, though the file was wanted")
	}
	desk.Notes.Press(t, "Everyone has signed", "default", "")
	w = desk.Window("Countersign")
	w.Drawn()
	if os.Getenv("COUNTERSIGN_E2E_PICTURES") != "" {
		harness.Must(t, os.MkdirAll(os.Getenv("COUNTERSIGN_E2E_PICTURES"), 0o700))
		keepPictures(t, map[string]image.Image{"pressed": w.Still()})
	}

	// What has gone is shown in the window, where it says what has become of it.
	w.Keys("ctrl+w")
	harness.Eventually(t, "the window is gone again", func() bool { return len(desk.Visible("Countersign")) == 0 })
	harness.Must(t, os.Remove(file))
	before := asked()
	desk.Notes.Press(t, "Everyone has signed", "open", "")
	desk.Window("Countersign")
	if after := asked(); after != before {
		t.Errorf("opened %q", strings.TrimPrefix(after, before))
	}
}

func TestWithoutAWindowAPressOpensTheFile(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.Notes.ShowButtons()
	o := harness.UsualOffice(t, desk)
	path, asked := fileOpener(t)
	o.More = append(o.More, path)
	o.Setup()
	o.Serve()
	o.MustLogin()
	o.Registered()
	file := signedOffer(o)
	notes := desk.Notes.List()
	if last := notes[len(notes)-1]; last.Actions != "default\nOpen\nfolder\nShow in folder" {
		t.Errorf("offered %q", last.Actions)
	}
	desk.Notes.Press(t, "Everyone has signed", "default", "")
	harness.Eventually(t, "the file is opened", func() bool { return asked() == file+"|\n" })
}
