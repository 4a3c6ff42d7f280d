package cli

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The certificate is not a PDF, but is read by the process that reads documents.
func TestACertificateIsTrustedAndNoMore(t *testing.T) {
	s := newShell(t)
	s.setUp()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	noErr(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Signing service"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	der := must(x509.CreateCertificate(rand.Reader, c, c, public, private))
	file := filepath.Join(t.TempDir(), "ca.pem")
	noErr(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	if code, _, stderr := s.run("trust", file, "--yes"); code != 0 {
		t.Fatalf("trust: %d %s", code, stderr)
	}
	_, list, _ := s.run("trust")
	fingerprint, name, _ := strings.Cut(list, "  ")
	if name != "CN=Signing service\n" {
		t.Fatalf("trusted is %q", list)
	}
	if code, _, stderr := s.run("trust", "--remove", fingerprint); code != 0 {
		t.Errorf("trust --remove: %d %s", code, stderr)
	}
	if _, list, _ := s.run("trust"); list != "" {
		t.Errorf("still trusted is %q", list)
	}
	if code, _, stderr := s.run("trust", os.Args[0], "--yes"); code != 1 || !strings.Contains(stderr, filepath.Base(os.Args[0])) {
		t.Errorf("of a file that names nobody: %d %s", code, stderr)
	}
}
