//go:build linux

package harness

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/tunnel/ngroktest"
)

const (
	Domain    = "office.ngrok.test"
	Authtoken = "the-authtoken-0815"
)

// Ngrok is the stand-in for ngrok's servers.
type Ngrok struct {
	*ngroktest.Edge
	CA string // PEM file
}

func StartNgrok(t testing.TB) *Ngrok {
	t.Helper()
	e, err := ngroktest.Start(ngroktest.Options{Authtoken: Authtoken, Hosts: []string{Domain}})
	Must(t, err)
	t.Cleanup(func() { e.Close() })
	n := &Ngrok{e, filepath.Join(t.TempDir(), "ngrok.pem")}
	Must(t, os.WriteFile(n.CA, e.CAPEM(), 0o600))
	return n
}

// Visitor is a visitor who reaches the domain through the edge.
func (n *Ngrok) Visitor() *Visitor {
	v := NewVisitor(&Authority{pool: n.CAs()})
	v.reach(Domain+":443", n.PublicAddr())
	return v
}
