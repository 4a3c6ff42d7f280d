//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestAListIsSentOnce sends a list in German Excel's format while the program is killed, and sends it again: unchanged, and
// changed.
func TestAListIsSentOnce(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Ready()
	path := filepath.Join(t.TempDir(), "Mieter.csv")
	write := func(lines ...string) {
		harness.Must(t, os.WriteFile(path, []byte("Vorname;Name;E-Mail;Frist;Wohnung\r\n"+strings.Join(lines, "\r\n")+"\r\n"), 0o600))
	}
	send := func(more ...string) harness.Result {
		return o.Command("send", append([]string{harness.Sample(t, "Lease Sonnenweg 4"), "--list", path, "--name", "Lease {Wohnung}",
			"--message", "Dear {vorname}, as agreed."}, more...)...)
	}
	const zoe = "Zo\xeb;M\xfcller;zoe@example.com;31.12.2031;Stra\xdfe 4" // Windows-1252
	write(zoe, "Ana;Ruiz;ana@;31.12.2031;Weg 1")
	if r := send(); r.Code != 1 || !strings.Contains(r.Stdout, "line 3, E-Mail: The e-mail address is missing or incomplete: “Ana Ruiz”.") ||
		!strings.Contains(r.Stderr, "Nothing was sent") || len(o.Service.Packages()) != 0 {
		t.Fatalf("of a wrong cell: %+v", r)
	}

	lines := []string{zoe}
	for i := range 11 {
		lines = append(lines, fmt.Sprintf("Ana;Ruiz;ana%d@example.com;31.12.2031;Weg %d", i, i))
	}
	write(lines...)
	o.Service.Misbehave(map[string]any{"path": "/files/upload", "delay_ms": 150, "times": 40})
	p := o.Begin("send", harness.Sample(t, "Lease Sonnenweg 4"), "--list", path, "--name", "Lease {Wohnung}", "--message", "Dear {vorname}, as agreed.")
	harness.Eventually(t, "some are sent", func() bool { return len(o.Service.Packages()) > 3 })
	o.Running.Kill()
	p.Wait()
	o.Serve()
	sent := func(n int) {
		t.Helper()
		harness.Eventually(t, fmt.Sprintf("%d are sent, or unknown", n), func() bool {
			s := o.Status()
			return len(o.Service.Packages()) >= n-s.Outbox.Unknown && s.Outbox.Pending == 0 && strings.Contains(o.Must("lists"), " done ")
		})
	}
	sent(12)
	if first := o.Service.Named("Lease Straße 4"); first.Signers[0].Name != "Zoë Müller" {
		t.Errorf("the first line became %+v", first)
	}
	seen := map[string]bool{}
	for _, x := range o.Service.Packages() {
		if seen[x.Name] {
			t.Errorf("%q was sent twice", x.Name)
		}
		seen[x.Name] = true
	}
	if r := send(); r.Code != 0 || !strings.Contains(r.Stdout, "Nothing to send") {
		t.Errorf("the same list again: %+v", r)
	}
	lines[3] = strings.Replace(lines[3], "Weg 2", "Weg 2 a", 1)
	write(append([]string{"Eva;Klein;eva@example.com;31.12.2031;Weg 99"}, lines...)...)
	if r := send(); r.Code != 0 || !strings.Contains(r.Stdout, "12 lines were sent before") || !strings.Contains(r.Stdout, "Sent 1 of 1 packages") {
		t.Errorf("a changed list: %+v", r)
	}
	id := strings.Fields(o.Must("lists"))[0]
	results := filepath.Join(t.TempDir(), "results.csv")
	o.Must("lists", id, "--csv", results)
	if b, err := os.ReadFile(results); err != nil || !strings.Contains(string(b), "eva@example.com,31.12.2031,Weg 99,2,Lease Weg 99,sent,,") {
		t.Errorf("the results are %s (%v)", b, err)
	}

	harness.Must(t, os.WriteFile(path, bomb(t), 0o600))
	if r := send(); r.Code != 1 || !strings.Contains(r.Stderr, "Mieter.csv") {
		t.Errorf("a bomb: %+v", r)
	}
}

// bomb is an XLSX of some KB that unpacks to a gigabyte.
func bomb(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"} {
		w, err := z.Create(name)
		harness.Must(t, err)
		for range 1 << 10 / 3 {
			_, err = w.Write(bytes.Repeat([]byte(" "), 1<<20))
			harness.Must(t, err)
		}
	}
	harness.Must(t, z.Close())
	return b.Bytes()
}
