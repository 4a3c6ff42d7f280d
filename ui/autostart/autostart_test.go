package autostart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAutostartQuotesPathsAsTheDesktopReadsThem(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/countersign":      `"/usr/bin/countersign"`,
		"/home/ana/my apps/c":       `"/home/ana/my apps/c"`,
		"/opt/100%/$HOME `x` \"y\"": "\"/opt/100%%/\\\\$HOME \\\\`x\\\\` \\\\\"y\\\\\"\"",
		`/opt/back\slash`:           `"/opt/back\\\\slash"`,
	} {
		if got := desktopQuote(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if entry := string(desktopEntry("/usr/bin/countersign")); !strings.Contains(entry, "\nExec=\"/usr/bin/countersign\" --hidden\n") {
		t.Errorf("got %s", entry)
	}
}

func TestEntriesThatAPersonSwitchedOffDoNotStart(t *testing.T) {
	for entry, want := range map[string]bool{
		string(desktopEntry("/usr/bin/countersign")): true,
		string(notHere): false,
		"[Desktop Entry]\nX-GNOME-Autostart-enabled = false\n": false,
		"[Desktop Entry]\nHidden=false\n":                      true,
	} {
		if got := startsEntry([]byte(entry)); got != want {
			t.Errorf("%q: got %v", entry, got)
		}
	}
	for value, want := range map[string]bool{"": true, "\x02\x00": true, "\x03\x00\x11": false, "\x06": true} {
		if got := approved([]byte(value)); got != want {
			t.Errorf("%q: got %v", value, got)
		}
	}
}

func TestLaunchAgentIsXMLWhateverThePath(t *testing.T) {
	const program = `/Applications/A & B <x>.app/Contents/MacOS/countersign`
	var texts []string
	for d := xml.NewDecoder(strings.NewReader(string(launchAgent("ch.countersign.app", program)))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			texts = append(texts, string(text))
		}
	}
	if got := strings.Join(texts, "|"); !strings.Contains(got, "ProgramArguments|"+program+"|--hidden|RunAtLoad") {
		t.Errorf("got %s", got)
	}
}

func TestRunCommandQuotesTheProgram(t *testing.T) {
	if got := runCommand(`C:\Users\Ana Ruiz\Countersign.exe`); got != `"C:\Users\Ana Ruiz\Countersign.exe" --hidden` {
		t.Errorf("got %s", got)
	}
}

// wantAutostart is the promise that every system keeps: what was set is what is found.
func wantAutostart(t *testing.T, want bool) {
	t.Helper()
	if got, err := (Entry{}).Enabled(); got != want || err != nil {
		t.Errorf("enabled: got %v, %v", got, err)
	}
}

func TestAutostartIsWhatWasSet(t *testing.T) {
	private(t)
	wantAutostart(t, false)
	for _, on := range []bool{false, true, true, false, false, true} {
		must(t, (Entry{}).Set(on))
		wantAutostart(t, on)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
