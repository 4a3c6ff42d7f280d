package desk_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/internal/desk"
	"countersign/internal/fasttest"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"
)

// nodeVariable makes this program a NATS server with that configuration.
const nodeVariable = "COUNTERSIGN_TEST_NODE"

func TestMain(m *testing.M) {
	config := os.Getenv(nodeVariable)
	if config == "" {
		goleak.VerifyTestMain(m)
		return
	}
	o, err := server.ProcessConfigFile(config)
	if err == nil {
		o.NoSigs = true
		var s *server.Server
		if s, err = server.NewServer(o); err == nil {
			s.Start()
			end := make(chan os.Signal, 1)
			signal.Notify(end, syscall.SIGTERM)
			<-end
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// accounts are those in admin.md, with real keys.
func accounts(t *testing.T, hub, reception string) string {
	page, err := os.ReadFile(filepath.Join("..", "..", "assets", "docs", "admin.md"))
	must(t, err)
	_, text, found := strings.Cut(string(page), "\n    accounts {")
	text, _, ends := strings.Cut(text, "\n    }\n")
	if !found || !ends {
		t.Fatal("admin.md has no accounts")
	}
	return "accounts {" + strings.NewReplacer("nkey: HUB}", "nkey: "+hub+"}", "DESK", reception).Replace(text) + "\n}"
}

func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// An office's own cluster, as in admin.md, one server of which may be killed at any time.
func TestAClusterLosesNothingWhicheverServerIsKilled(t *testing.T) {
	fasttest.Slow(t)
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	hubSeed, hubKey, err := desk.NewKey()
	must(t, err)
	seed, public, err := desk.NewKey()
	must(t, err)

	var servers, routes []string
	for range 3 {
		servers, routes = append(servers, free(t)), append(routes, "nats://"+free(t))
	}
	nodes := make([]*exec.Cmd, 3)
	start := func(n int) {
		config := filepath.Join(dir, fmt.Sprint("node", n))
		must(t, os.WriteFile(config, fmt.Appendf(nil, `server_name: node%d
listen: %q
max_payload: 2MB
jetstream { store_dir: %q, sync_interval: always }
cluster { name: office, listen: %q, routes: [%s] }
tls { cert_file: %q, key_file: %q, handshake_first: true }
%s
`, n, servers[n], filepath.Join(dir, fmt.Sprint("store", n)), strings.TrimPrefix(routes[n], "nats://"), `"`+strings.Join(routes, `","`)+`"`,
			filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), accounts(t, hubKey, public)), 0o600))
		program, err := os.Executable()
		must(t, err)
		nodes[n] = exec.Command(program)
		nodes[n].Env, nodes[n].Stderr = append(os.Environ(), nodeVariable+"="+config), os.Stderr
		must(t, nodes[n].Start())
	}
	kill := func(n int) {
		must(t, nodes[n].Process.Kill())
		_ = nodes[n].Wait() // it was killed
	}
	for n := range nodes {
		start(n)
		defer func() { kill(n) }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	way := desk.Way{Servers: "nats://" + strings.Join(servers, ",nats://"), Pin: desk.Pin(leaf.RawSubjectPublicKeyInfo)}
	stream := desk.Stream{Epoch: 1, Age: time.Hour, Bytes: 16 << 20, Replicas: 3}

	// until repeats do on connections with that key until it succeeds, as the owner of a connection does.
	until := func(seed string, do func(*desk.Conn) error) (err error) {
		w := way
		w.Seed = seed
		for ctx.Err() == nil {
			var c *desk.Conn
			if c, err = desk.Connect(ctx, w); err == nil {
				err = do(c)
				c.Close()
			}
			if err == nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return errors.Join(ctx.Err(), err)
	}
	must(t, until(hubSeed, func(c *desk.Conn) error {
		asking, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		return errors.Join(c.Prepare(asking, stream), c.Follow(asking, stream, public, time.Now().Add(-time.Hour)))
	}))
	const each, rounds = 30, 3
	var mu sync.Mutex
	got := map[string]int{}
	reading, enough := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		_ = until(seed, func(c *desk.Conn) error {
			return c.Receive(reading, 1, desk.Mark{}, func(e desk.Event, _ desk.Mark) error {
				mu.Lock()
				defer mu.Unlock()
				if got[string(e.Body)]++; len(got) == each*rounds {
					enough()
				}
				return nil
			}, func(desk.Mark) error { return nil }) // gaps are not filled here; they show in the result below
		})
	})
	sent := 0
	publish := func(n int) {
		for last := sent + n; sent < last; sent++ {
			must(t, until(hubSeed, func(c *desk.Conn) error {
				return c.Publish(ctx, stream, desk.Event{ID: fmt.Sprint(sent), Body: []byte(fmt.Sprint(sent))})
			}))
		}
	}
	for n := range rounds {
		publish(each / 3)
		kill(n)
		publish(each / 3)
		start(n)
		publish(each / 3)
	}
	<-reading.Done()
	enough()
	cancel2 := time.AfterFunc(time.Minute, cancel)
	defer cancel2.Stop()
	must(t, until(hubSeed, func(c *desk.Conn) error {
		have, err := c.Tokens(ctx, stream)
		if err == nil && len(have) != sent {
			t.Errorf("the stream has %d events of %d", len(have), sent)
		}
		return err
	}))
	mu.Lock()
	if len(got) != sent {
		t.Errorf("the desk got %d events of %d", len(got), sent)
	}
	mu.Unlock()
	cancel()
	running.Wait()
}
