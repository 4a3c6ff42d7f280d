//go:build linux

package system

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"countersign/internal/message"
	"countersign/ui/displaytest"
)

// paste asks the owner of the clipboard for a form, as a program does into which somebody pastes.
func paste(t *testing.T, form string) (kind string, data []byte) {
	t.Helper()
	conn, err := xgb.NewConn()
	must(t, err)
	defer conn.Close()
	window, err := xproto.NewWindowId(conn)
	must(t, err)
	root := xproto.Setup(conn).DefaultScreen(conn).Root
	must(t, xproto.CreateWindowChecked(conn, 0, window, root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check())
	named := func(name string) xproto.Atom {
		a, err := atom(conn, name)
		must(t, err)
		return a
	}
	property := named("PASTED")
	xproto.ConvertSelection(conn, window, named("CLIPBOARD"), named(form), property, xproto.TimeCurrentTime)
	for {
		event, err := conn.WaitForEvent()
		if err != nil || event == nil {
			t.Fatal("nobody answers: ", err)
		}
		e, ok := event.(xproto.SelectionNotifyEvent)
		if !ok {
			continue
		}
		if e.Property == xproto.AtomNone {
			return "", nil
		}
		reply, err2 := xproto.GetProperty(conn, true, window, property, xproto.GetPropertyTypeAny, 0, 1<<20).Reply()
		must(t, err2)
		name, err2 := xproto.GetAtomName(conn, reply.Type).Reply()
		must(t, err2)
		return name.Name, reply.Value
	}
}

func TestAWindowIsMaximizedOnceItIsShown(t *testing.T) {
	displaytest.Start(t)
	conn, err := xgb.NewConn()
	must(t, err)
	defer conn.Close()
	window, err := xproto.NewWindowId(conn)
	must(t, err)
	must(t, xproto.CreateWindowChecked(conn, 0, window, xproto.Setup(conn).DefaultScreen(conn).Root, 0, 0, 9, 9, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check())
	before := IsMaximized(uintptr(window))
	if Maximize(uintptr(window)); before || !IsMaximized(uintptr(window)) {
		t.Errorf("maximized before: %v, and then: %v", before, !before)
	}
}

// twoFiles are files with names that an address must write otherwise.
func twoFiles(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "Müller & Söhne 100 %.pdf"), filepath.Join(dir, "-x;$(y).pdf")}
	for _, path := range paths {
		must(t, os.WriteFile(path, []byte("%PDF-"), 0o600))
	}
	return paths
}

func TestCopiedFilesCanBePasted(t *testing.T) {
	displaytest.Start(t)
	paths := twoFiles(t)
	must(t, Opener{}.CopyFiles(t.Context(), paths[:1]))
	must(t, Opener{}.CopyFiles(t.Context(), paths)) // in place of what was copied before
	dir := "file://" + filepath.Dir(paths[0])
	first, second := dir+"/M%C3%BCller%20&%20S%C3%B6hne%20100%20%25.pdf", dir+"/-x;$%28y%29.pdf"
	for form, want := range map[string]string{
		"x-special/gnome-copied-files": "copy\n" + first + "\n" + second,
		"text/uri-list":                first + "\r\n" + second + "\r\n",
		"UTF8_STRING":                  strings.Join(paths, "\n"),
	} {
		kind, got := paste(t, form)
		if text := strings.NewReplacer("(", "%28", ")", "%29").Replace(string(got)); kind != form || form != "UTF8_STRING" && text != want || form == "UTF8_STRING" && string(got) != want {
			t.Errorf("%s gives %q of %q, want %q", form, got, kind, want)
		}
	}
	if kind, list := paste(t, "TARGETS"); kind != "ATOM" || len(list) != 16 {
		t.Errorf("the forms are %q of %q", list, kind)
	}
	if kind, got := paste(t, "image/png"); kind != "" {
		t.Errorf("a picture is %q of %q", got, kind)
	}
}

func TestWithoutADisplayNothingIsCopied(t *testing.T) {
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	wantSentence(t, Opener{}.CopyFiles(t.Context(), twoFiles(t)), message.FilesNotCopied())
}

func wantSentence(t *testing.T, err error, want message.Message) {
	t.Helper()
	if m, ok := message.Of(err); !ok || m != want {
		t.Errorf("people are told %v of %v, want %v", m, err, want)
	}
}

// helper puts a program of that name before all others, which notes its arguments and ends with a code.
func helper(t *testing.T, name, code string) (ran func() []string) {
	t.Helper()
	bin := t.TempDir()
	log := filepath.Join(bin, "ran")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '" + log + "'\n[ -t 0 ] || cat >> '" + log + "'\nexit " + code + "\n"
	must(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return func() []string {
		b, err := os.ReadFile(log)
		must(t, err)
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

func TestFilesAreMailedAndPrintedByTheirNames(t *testing.T) {
	paths := twoFiles(t)
	mailed, printed := helper(t, "xdg-email", "0"), helper(t, "lp", "0")
	must(t, Opener{}.MailFiles(t.Context(), Mail{[]string{"ana@example.com", "--attach", "mailto:a@b.c?attach=/etc/passwd"}, "-Offer", paths}))
	must(t, Opener{}.PrintFiles(t.Context(), paths))
	if got := mailed(); !slices.Equal(got, []string{"--subject", "-Offer", "--attach", paths[0], "--attach", paths[1], "ana@example.com"}) {
		t.Errorf("mailed %q", got)
	}
	if got := printed(); !slices.Equal(got, paths) {
		t.Errorf("printed %q", got)
	}
	t.Setenv("WAYLAND_DISPLAY", "wayland-0")
	copied := helper(t, "wl-copy", "0")
	must(t, Opener{}.CopyFiles(t.Context(), paths[1:]))
	if got := copied(); len(got) != 3 || got[0] != "--type" || got[1] != "text/uri-list" || !strings.HasPrefix(got[2], "file:///") {
		t.Errorf("copied %q", got)
	}
}

func TestWithoutAHelperASentenceSaysSo(t *testing.T) {
	paths := twoFiles(t)
	missing := message.FileMoved("gone.pdf", filepath.Dir(paths[0]))
	for name, prepare := range map[string]func(t *testing.T){
		"there is none": func(t *testing.T) { t.Setenv("PATH", t.TempDir()) },
		"it fails": func(t *testing.T) {
			helper(t, "xdg-email", "3")
			helper(t, "lp", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			wantSentence(t, Opener{}.MailFiles(t.Context(), Mail{Files: paths}), message.NoMailProgram())
			wantSentence(t, Opener{}.PrintFiles(t.Context(), paths), message.NotPrinted(filepath.Base(paths[0])))
			gone := []string{filepath.Join(filepath.Dir(paths[0]), "gone.pdf")}
			for _, do := range []func(context.Context, []string) error{Opener{}.PrintFiles, Opener{}.CopyFiles} {
				wantSentence(t, do(t.Context(), gone), missing)
			}
		})
	}
}

func TestAMailProgramThatStaysIsNotWaitedFor(t *testing.T) {
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "xdg-email"), []byte("#!/bin/sh\nexec sleep 5\n"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	must(t, Opener{Patience: time.Millisecond}.MailFiles(t.Context(), Mail{Files: twoFiles(t)}))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := (Opener{}).PrintFiles(ctx, nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// settingsPortal answers as org.freedesktop.portal.Settings does.
type settingsPortal map[string]map[string]dbus.Variant

func (p settingsPortal) ReadAll([]string) (map[string]map[string]dbus.Variant, *dbus.Error) {
	return p, nil
}

// TestTheDesktopsComfortIsRead asks a portal on a bus of the test's own, set as GNOME's accessibility settings set it.
func TestTheDesktopsComfortIsRead(t *testing.T) {
	v := dbus.MakeVariant
	for name, c := range map[string]struct {
		portal settingsPortal
		want   Accessibility
	}{
		"nothing set":       {settingsPortal{}, Accessibility{}},
		"as it comes":       {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(1.0), "enable-animations": v(true)}}, Accessibility{Text: 100}},
		"portal's contrast": {settingsPortal{"org.freedesktop.appearance": {"contrast": v(uint32(1))}}, Accessibility{Contrast: true}},
		"GNOME's contrast":  {settingsPortal{"org.gnome.desktop.a11y.interface": {"high-contrast": v(true)}}, Accessibility{Contrast: true}},
		"GTK's theme":       {settingsPortal{"org.gnome.desktop.interface": {"gtk-theme": v("HighContrastInverse")}}, Accessibility{Contrast: true}},
		"large text":        {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(1.25)}}, Accessibility{Text: 125}},
		"huge text":         {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(3.0)}}, Accessibility{Text: 200}},
		"small text":        {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v(0.8)}}, Accessibility{Text: 100}},
		"no animations":     {settingsPortal{"org.gnome.desktop.interface": {"enable-animations": v(false)}}, Accessibility{ReducedMotion: true}},
		"reduced motion":    {settingsPortal{"org.freedesktop.appearance": {"reduced-motion": v(uint32(1))}}, Accessibility{ReducedMotion: true}},
		"other types":       {settingsPortal{"org.gnome.desktop.interface": {"text-scaling-factor": v("2"), "enable-animations": v(0), "gtk-theme": v(1)}}, Accessibility{}},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, claimed(t).Export(c.portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings"))
			if got, err := ReadAccessibility(t.Context()); err != nil || got != c.want {
				t.Errorf("read %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestADesktopThatDoesNotAnswerSaysNothing(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	if got, err := ReadAccessibility(t.Context()); err == nil {
		t.Errorf("read %+v", got)
	}
}
