package ngroktest

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Addresses is the first line Main prints.
type Addresses struct {
	Connect  string `json:"connect"`  // host:port for --ngrok-connect-url
	Public   string `json:"public"`   // host:port of the public HTTPS side
	CA       string `json:"ca"`       // PEM file, for --ngrok-ca and for clients of the public side
	Assigned string `json:"assigned"` // the domain an agent gets when it asks for none
}

// Report is the answer to the command "log".
type Report struct {
	Counts   Counts    `json:"counts"`
	Requests []Request `json:"requests"`
}

// Main runs an edge as a process of its own: it prints one JSON line (Addresses), then obeys commands, one a line
// on stdin, answering each with one JSON line: {"ok":true}, {"error":"..."} or, for log, a Report. It returns the
// exit code when stdin ends, after closing the edge and removing a CA file it named itself.
//
// Flags: -listen, -public, -authtoken, -host (repeatable), -assigned, -ca FILE. Commands:
//
//	reject-auth CODE | accept-auth | reject-bind CODE | accept-bind
//	hold HOST [N] | free HOST
//	kill | silence | speak | refuse | return | wrong-cert | right-cert
//	stop-tunnel HOST [CODE] | stop | log
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var opts Options
	var file string
	flags := flag.NewFlagSet("edge", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.Listen, "listen", "", "where agents connect, `host:port`")
	flags.StringVar(&opts.Public, "public", "", "where the public connects, `host:port`")
	flags.StringVar(&opts.Authtoken, "authtoken", "", "the only `token` accepted")
	flags.StringVar(&opts.Assigned, "assigned", "", "the `domain` for agents that ask for none")
	flags.StringVar(&file, "ca", "", "write the CA certificate to `file`")
	flags.Func("host", "a `name` for the public certificate", func(name string) error {
		opts.Hosts = append(opts.Hosts, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := run(opts, file, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func run(opts Options, file string, stdin io.Reader, stdout io.Writer) error {
	e, err := Start(opts)
	if err != nil {
		return err
	}
	defer e.Close()
	if file == "" {
		temporary, err := os.CreateTemp("", "edge-ca-*.pem")
		if err != nil {
			return fmt.Errorf("edge: make the CA file: %w", err)
		}
		file = temporary.Name()
		temporary.Close()
		defer os.Remove(file)
	}
	if err := os.WriteFile(file, e.CAPEM(), 0o600); err != nil {
		return fmt.Errorf("edge: write the CA file: %w", err)
	}
	answer := json.NewEncoder(stdout)
	where := Addresses{Connect: e.ConnectAddr(), Public: e.PublicAddr(), CA: file, Assigned: e.opts.Assigned}
	if err := answer.Encode(where); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if err := answer.Encode(obey(e, words[0], words[1:])); err != nil {
			return err
		}
	}
	return lines.Err()
}

func obey(e *Edge, command string, args []string) any {
	if command == "log" {
		return Report{Counts: e.Counts(), Requests: e.Requests()}
	}
	if err := control(e, command, args); err != nil {
		return map[string]string{"error": err.Error()}
	}
	return map[string]bool{"ok": true}
}

func control(e *Edge, command string, args []string) error {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch command {
	case "reject-auth", "reject-bind", "hold", "free", "stop-tunnel":
		if first == "" {
			return fmt.Errorf("%s needs an argument", command)
		}
	}
	switch command {
	case "reject-auth":
		e.RejectAuth(first)
	case "accept-auth":
		e.RejectAuth("")
	case "reject-bind":
		e.RejectBind(first)
	case "accept-bind":
		e.RejectBind("")
	case "hold":
		times := -1
		if len(args) > 1 {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("hold: %q is not a number", args[1])
			}
			times = n
		}
		e.HoldDomain(first, times)
	case "free":
		e.FreeDomain(first)
	case "kill":
		e.KillSessions()
	case "silence":
		e.Silence()
	case "speak":
		e.Speak()
	case "refuse":
		return e.Refuse()
	case "return":
		return e.Return()
	case "wrong-cert", "right-cert":
		e.ShowWrongCertificate(command == "wrong-cert")
	case "stop-tunnel":
		code := ""
		if len(args) > 1 {
			code = args[1]
		}
		return e.StopTunnel(first, "The endpoint was stopped.", code)
	case "stop":
		return e.Stop()
	default:
		return fmt.Errorf("unknown command %q", command)
	}
	return nil
}
