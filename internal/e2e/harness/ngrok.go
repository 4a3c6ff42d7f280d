//go:build linux

package harness

import (
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
	CA *Authority
}

func StartNgrok(t testing.TB) *Ngrok {
	t.Helper()
	e, err := ngroktest.Start(ngroktest.Options{Authtoken: Authtoken, Hosts: []string{Domain}})
	Must(t, err)
	t.Cleanup(func() { e.Close() })
	return &Ngrok{e, trusting(t, e.Authority())}
}

// Visitor is a visitor who reaches the domain through the edge.
func (n *Ngrok) Visitor() *Visitor {
	v := NewVisitor(n.CA)
	v.reach(Domain+":443", n.PublicAddr())
	return v
}
