//go:build linux

package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestPeopleGetCopiesAndLinks sends with copies, those of the settings among them, and has a link to sign printed, which is
// left nowhere.
func TestPeopleGetCopiesAndLinks(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Serve()
	o.Setup("--copy-to", "Office <office@example.com>; jan.weber@example.com")
	o.MustLogin()
	o.Registered()

	if r := o.Command("send", harness.Sample(t, "Lease Sonnenweg 4"), "--to", "Ana Ruiz <ana.ruiz@example.com>", "--cc", "ANA.RUIZ@example.com"); r.Code != 1 ||
		!strings.Contains(r.Stderr, "signs this package and cannot also get a copy") || len(o.Service.Packages()) != 0 {
		t.Errorf("a copy for a signer: %+v", r)
	}
	o.Must("send", harness.Sample(t, "Lease Sonnenweg 4"), "--name", "Lease", "--sequential", "--to", "Jan Weber <jan.weber@example.com>",
		"--to", "Ana Ruiz <ana.ruiz@example.com>", "--cc", "Eva Klein <eva@example.com>", "--bcc", "boss@example.com")
	lease := o.Service.Named("Lease")
	var copies []string
	for _, r := range lease.Recipients {
		copies = append(copies, r.Type+" "+r.Email)
	}
	if want := []string{"CC eva@example.com", "BCC boss@example.com", "CC office@example.com"}; !slices.Equal(copies, want) {
		t.Errorf("the service got %q", copies)
	}

	link := strings.TrimSpace(o.Must("link", lease.ID, "jan.weber@example.com"))
	if link != lease.Signers[0].Page {
		t.Errorf("the link is %q, want %q", link, lease.Signers[0].Page)
	}
	o.Stop()
	token := []byte(link[strings.LastIndex(link, "/")+1:])
	harness.Must(t, filepath.WalkDir(o.Data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, token) {
			t.Errorf("%s holds the link", e.Name())
		}
		return err
	}))
}
