package autostart

import (
	"bytes"
	"encoding/xml"
	"strings"
)

// The file formats of the three systems, as plain functions of the program's path, so that all are tested everywhere.

// desktopEntry returns a desktop autostart file (Desktop Entry Specification 1.5) for a program.
func desktopEntry(program string) []byte {
	return []byte("[Desktop Entry]\nType=Application\nName=Countersign\n" +
		"Comment=Saves signed documents while you work\nIcon=countersign\n" +
		"Exec=" + desktopQuote(program) + " " + hiddenFlag + "\nTerminal=false\nX-GNOME-Autostart-enabled=true\n")
}

// notHere is a personal entry that overrides one for the whole computer.
var notHere = []byte("[Desktop Entry]\nType=Application\nName=Countersign\nHidden=true\n")

// desktopQuote writes one argument of an Exec line: quoted, then escaped like any string value, with the percent sign doubled
// because it introduces a field.
func desktopQuote(arg string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`).Replace(arg)
	return `"` + strings.NewReplacer(`\`, `\\`, `%`, `%%`, "\n", `\n`, "\t", `\t`).Replace(quoted) + `"`
}

// startsEntry reports whether a desktop would start an entry.
func startsEntry(entry []byte) bool {
	for line := range strings.Lines(string(entry)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch strings.TrimSpace(key) + "=" + strings.TrimSpace(value) {
		case "Hidden=true", "X-GNOME-Autostart-enabled=false":
			return false
		}
	}
	return true
}

// launchAgent returns a property list for launchd (launchd.plist(5)); it runs only in sessions with a screen.
func launchAgent(label, program string) []byte {
	var b bytes.Buffer
	text := func(s string) {
		_ = xml.EscapeText(&b, []byte(s)) // a buffer never fails
	}
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>`)
	text(label)
	b.WriteString("</string>\n\t<key>ProgramArguments</key>\n\t<array>\n\t\t<string>")
	text(program)
	b.WriteString("</string>\n\t\t<string>" + hiddenFlag + `</string>
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>LimitLoadToSessionType</key>
	<string>Aqua</string>
</dict>
</plist>
`)
	return b.Bytes()
}

// runCommand returns a command line for the Run key of the Windows registry. A path cannot contain a double quote.
func runCommand(program string) string { return `"` + program + `" ` + hiddenFlag }

// approved reads a value under StartupApproved, where the Windows Task Manager records what a person switched off: then the first
// byte is odd.
func approved(value []byte) bool { return len(value) == 0 || value[0]&1 == 0 }
