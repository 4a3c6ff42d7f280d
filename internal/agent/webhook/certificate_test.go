package webhook

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/message"
)

func TestACertificateFileThatCannotBeUsedIsSaidInPlainWords(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.pem")
	other := filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(other, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{gone, other} {
		_, err := readCAs(file)
		if m, ok := message.Of(err); !ok || m != message.CertificateFileUnusable() {
			t.Errorf("%s: people are told %q", filepath.Base(file), m)
		}
	}
}
