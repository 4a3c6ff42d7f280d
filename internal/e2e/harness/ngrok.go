//go:build linux

package harness

import (
	"crypto/x509"
	"encoding/json"
	"io"
	"os"
	"testing"

	"countersign/internal/tunnel/ngroktest"
)

const (
	Domain    = "office.ngrok.test"
	Authtoken = "the-authtoken-0815"
)

// Ngrok is the stand-in for ngrok's servers, as a process of its own.
type Ngrok struct {
	*Process
	ngroktest.Addresses
	answers int // lines read so far
}

func StartNgrok(t testing.TB, env []string) *Ngrok {
	t.Helper()
	n := &Ngrok{Process: Start(t, append(env, helperEnv+"=edge"), os.Args[0], "-host", Domain, "-authtoken", Authtoken)}
	n.read(&n.Addresses)
	return n
}

// read takes the next line the edge prints.
func (n *Ngrok) read(v any) {
	n.T.Helper()
	var lines []string
	Eventually(n.T, "the edge answers", func() bool {
		lines, _ = n.Stdout.snapshot()
		return len(lines) > n.answers
	})
	if err := json.Unmarshal([]byte(lines[n.answers]), v); err != nil {
		n.T.Fatal(err)
	}
	n.answers++
}

// Do has the edge obey one command.
func (n *Ngrok) Do(command string) (report ngroktest.Report) {
	n.T.Helper()
	if _, err := io.WriteString(n.In, command+"\n"); err != nil {
		n.T.Fatal(err)
	}
	var answer struct {
		ngroktest.Report
		Error string
	}
	n.read(&answer)
	if answer.Error != "" {
		n.T.Fatalf("the edge refuses %q: %s", command, answer.Error)
	}
	return answer.Report
}

// Visitor is a visitor who reaches the domain through the edge.
func (n *Ngrok) Visitor() *Visitor {
	n.T.Helper()
	pem, err := os.ReadFile(n.CA)
	if err != nil {
		n.T.Fatal(err)
	}
	a := &Authority{pool: x509.NewCertPool()}
	a.pool.AppendCertsFromPEM(pem)
	v := NewVisitor(a)
	v.reach(Domain+":443", n.Public)
	return v
}
