//go:build linux

package e2e

import (
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
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
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	desk.Notes.ReadMarkup()
	tray := harness.ServeTray(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	o.Setup("--name-template", "{package}/{document} by {signer}")
	o.Open()
	icon := tray.Item()
	o.MustLogin()
	o.Registered()

	trap := filepath.Join(harness.ShortDir(t), "trap")
	sent := 0
	for i, name := range hostileNames {
		if sendAs(o, i, strings.ReplaceAll(name, "TRAP", trap)) {
			sent++
		}
	}
	if sent < len(hostileNames)*3/4 {
		t.Errorf("only %d of %d names could be sent at all", sent, len(hostileNames))
	}
	harness.Suffered.Add(harness.Hostile, len(hostileNames))
	for _, label := range icon.Labels() {
		harmless(t, "the tray's menu", label, 200)
	}
	for _, p := range o.Service.Packages() {
		o.Service.SignAll(p.ID)
	}
	n := len(o.Service.Packages())
	o.Until("every package is saved", func(s harness.Status) bool { return s.Packages.Saved == n && s.Saves.Failed == 0 })
	harness.Eventually(t, "people are told", func() bool { return len(desk.Notes.List()) > 0 })
	leavesAQuestion(o, "$(touch "+trap+")\x1b[2J<b>\u202e"+strings.Repeat("B", 150))
	for _, label := range append(icon.Labels(), icon.Title()) {
		harmless(t, "the tray's menu", label, 200)
	}
	o.Stop()

	isHarmless(o)
	if _, err := os.Stat(trap); err == nil {
		t.Error("a name was run by a shell")
	}
}

// sendAs sends a package with a name that everything in it bears, and reports whether anybody would take it.
func sendAs(o *harness.Office, n int, name string) bool {
	o.T.Helper()
	b, err := os.ReadFile(harness.Sample(o.T, "Offer 2026-118"))
	harness.Must(o.T, err)
	base := strings.NewReplacer("/", "", "\x00", "").Replace(name)
	for len(base) > 200 {
		base = string([]rune(base)[:len([]rune(base))/2])
	}
	file := filepath.Join(harness.ShortDir(o.T), base+".pdf")
	harness.Must(o.T, os.WriteFile(file, b, 0o600))
	to := mail.Address{Name: name, Address: fmt.Sprintf("signer%d@example.com", n)}
	r := o.Command("send", file, "--name="+name, "--to="+to.String(), "--message="+name)
	if r.Code != 0 {
		o.T.Logf("%.40q is not sent: %s", name, r.Stderr)
		harmless(o.T, "what send says", strings.TrimSpace(r.Stderr), 1000)
	}
	return r.Code == 0
}

// leavesAQuestion has the service lose the answer about a package with this name, so that health and the notifications
// speak of it.
func leavesAQuestion(o *harness.Office, name string) {
	o.T.Helper()
	o.Service.Tell("POST", "/events/hold", nil, nil)
	o.Service.Misbehave(map[string]any{"path": "/packages/list", "status": 404})
	o.Service.Misbehave(map[string]any{"path": "/packages/add", "drop": true, "times": 1})
	r := o.Command("send", harness.Sample(o.T, "Offer 2026-118"), "--name", name, "--to", ana)
	if r.Code != 1 {
		o.T.Errorf("a lost answer: %+v", r)
	}
	harmless(o.T, "what send says", strings.TrimSpace(r.Stderr), 600)
	text := o.Must("status")
	for line := range strings.Lines(text) {
		harmless(o.T, "status", strings.TrimSpace(line), 1000)
	}
	for _, i := range o.Status().Health {
		harmless(o.T, "the health of status --json", i.Text, 600)
	}
}
