//go:build linux

package e2e

import (
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileNames are what people, or a service, may call a package, a signer or a document to do harm. TRAP stands for a
// file that a shell would make.
var hostileNames = []string{
	"$(touch TRAP)", "`touch TRAP`", "; touch TRAP #", "| touch TRAP", `"; touch TRAP; "`, `'; touch TRAP; '`, "%PATH% $HOME ${HOME} $env:HOME",
	"<b>bold</b> <img src=x onerror=alert(1)> &amp; &lt;", "]]><script>x</script>", `" onmouseover="x`, `\" \n \\ \u0041`,
	"one\ntwo\r\nthree\tfour", "\x1b[31mred\x1b[0m \x07\x08\x7f\u0085\u2028\u2029", "\u202efdp.exe\u202c \u2066a\u2069 \u200f\u200e\u200b\ufeff",
	"../../../../TRAP", `..\..\TRAP`, "/etc/passwd", `C:\Windows\x`, "CON", "nul.pdf", ".hidden", "trailing. . .", "-rf", "~root", "a:b*c?d|e",
	"e\u0301\u0301\u0301\u0301 \U0001F1E9\U0001F1EA \U000E0041\U000E0042 \uFFF9a\uFFFB", strings.Repeat("A", 10000), strings.Repeat("\u0416\u0301", 5000),
	"{package} {document} {date} %s %d %n", "=HYPERLINK(\"http://x\")", "\u2018\u2019\u201c\u201d\u00b4",
}

func TestHostileNamesAreShownHarmlessly(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	desk.startDisplay()
	desk.notes.readMarkup()
	tray := serveTray(t, desk.connect())
	o := usualOffice(t, desk)
	o.setup("--name-template", "{package}/{document} by {signer}")
	o.open()
	icon := tray.item()
	o.mustLogin()
	o.registered()

	trap := filepath.Join(shortDir(t), "trap")
	sent := 0
	for i, name := range hostileNames {
		if o.sendAs(i, strings.ReplaceAll(name, "TRAP", trap)) {
			sent++
		}
	}
	if sent < len(hostileNames)*3/4 {
		t.Errorf("only %d of %d names could be sent at all", sent, len(hostileNames))
	}
	suffered.add(hostile, len(hostileNames))
	for _, label := range icon.labels() {
		harmless(t, "the tray's menu", label, 200)
	}
	for _, p := range o.service.packages() {
		o.service.signAll(p.ID)
	}
	n := len(o.service.packages())
	o.until("every package is saved", func(s status) bool { return s.Packages.Saved == n && s.Saves.Failed == 0 })
	eventually(t, "people are told", func() bool { return len(desk.notes.list()) > 0 })
	o.leavesAQuestion("$(touch " + trap + ")\x1b[2J<b>\u202e" + strings.Repeat("B", 150))
	for _, label := range append(icon.labels(), icon.title()) {
		harmless(t, "the tray's menu", label, 200)
	}
	o.stop()

	o.isHarmless()
	if _, err := os.Stat(trap); err == nil {
		t.Error("a name was run by a shell")
	}
}

// sendAs sends a package with a name that everything in it bears, and reports whether anybody would take it.
func (o *office) sendAs(n int, name string) bool {
	o.t.Helper()
	b, err := os.ReadFile(sample(o.t, "Offer 2026-118"))
	if err != nil {
		o.t.Fatal(err)
	}
	base := strings.NewReplacer("/", "", "\x00", "").Replace(name)
	for len(base) > 200 {
		base = string([]rune(base)[:len([]rune(base))/2])
	}
	file := filepath.Join(shortDir(o.t), base+".pdf")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		o.t.Fatal(err)
	}
	to := mail.Address{Name: name, Address: fmt.Sprintf("signer%d@example.com", n)}
	r := o.command("send", file, "--name="+name, "--to="+to.String(), "--message="+name)
	if r.code != 0 {
		o.t.Logf("%.40q is not sent: %s", name, r.stderr)
		harmless(o.t, "what send says", strings.TrimSpace(r.stderr), 1000)
	}
	return r.code == 0
}

// leavesAQuestion has the service lose the answer about a package with this name, so that health and the notifications
// speak of it.
func (o *office) leavesAQuestion(name string) {
	o.t.Helper()
	o.service.tell("POST", "/events/hold", nil, nil)
	o.service.misbehave(map[string]any{"path": "/packages/list", "status": 404})
	o.service.misbehave(map[string]any{"path": "/packages/add", "drop": true, "times": 1})
	r := o.command("send", sample(o.t, "Offer 2026-118"), "--name", name, "--to", ana)
	if r.code != 1 {
		o.t.Errorf("a lost answer: %+v", r)
	}
	harmless(o.t, "what send says", strings.TrimSpace(r.stderr), 600)
	text := o.must("status")
	for line := range strings.Lines(text) {
		harmless(o.t, "status", strings.TrimSpace(line), 1000)
	}
	for _, i := range o.status().Health {
		harmless(o.t, "the health of status --json", i.Text, 600)
	}
}
