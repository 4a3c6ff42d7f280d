package single

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"countersign/internal/trytest"
)

func TestMain(m *testing.M) {
	// go-winio has one goroutine that waits for all pipes of the process, for ever.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor"))
}

// start acquires dir and serves handler until the test ends.
func start(t *testing.T, dir string, handler http.Handler) *Instance {
	t.Helper()
	i := must(Acquire(dir))
	served := make(chan error, 1)
	go func() { served <- i.Serve(handler) }()
	t.Cleanup(func() {
		i.Close()
		if err := <-served; err != nil {
			t.Error("serve: ", err)
		}
	})
	return i
}

func client(t *testing.T, dir string) *http.Client {
	t.Helper()
	c := must(Client(dir))
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// hello answers with the request's body.
var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	fmt.Fprintf(w, "hello %s", body)
})

func post(c *http.Client, body string) (string, int, error) {
	resp, err := c.Post("http://countersign/x", "text/plain", strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), resp.StatusCode, err
}

func TestOnlyOneHasTheFolder(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir, hello)
	if _, err := Acquire(dir); !errors.Is(err, ErrRunning) {
		t.Fatalf("got %v", err)
	}
	if answer, _, err := post(client(t, dir), "you"); answer != "hello you" || err != nil {
		t.Errorf("the first no longer answers: %q, %v", answer, err)
	}
	noErr(t, first.Close())
	start(t, dir, hello)
	if answer, _, err := post(client(t, dir), "again"); answer != "hello again" || err != nil {
		t.Errorf("the second does not answer: %q, %v", answer, err)
	}
}

func TestOfManyStartsOneWins(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	instances := make([]*Instance, 8)
	for n := range instances {
		group.Go(func() {
			i, err := Acquire(dir)
			if err != nil && !errors.Is(err, ErrRunning) {
				t.Error(err)
			}
			instances[n] = i
		})
	}
	group.Wait()
	won := 0
	for _, i := range instances {
		if i != nil {
			won++
			i.Close()
		}
	}
	expect(t, won, 1, "%d have the folder")
}

func TestRequestsWaitForServe(t *testing.T) {
	dir := t.TempDir()
	i := must(Acquire(dir))
	c := client(t, dir) // connects before Serve
	served := make(chan error, 1)
	go func() { served <- i.Serve(hello) }()
	if answer, _, err := post(c, "early"); answer != "hello early" || err != nil {
		t.Errorf("got %q, %v", answer, err)
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestItIsKnownWhenTheHolderIsGone(t *testing.T) {
	dir := t.TempDir()
	noErr(t, Gone(t.Context(), dir)) // nobody has ever held it
	i := must(Acquire(dir))
	ctx, cancel := context.WithTimeout(t.Context(), 2*retryEvery)
	defer cancel()
	if err := Gone(ctx, dir); !errors.Is(err, ErrRunning) {
		t.Errorf("while it is there: %v", err)
	}
	gone := make(chan error)
	go func() { gone <- Gone(t.Context(), dir) }()
	noErr(t, i.Close())
	noErr(t, <-gone)
	start(t, dir, hello) // after Gone the folder is free
}

func TestNobodyAnswersWhereNobodyRuns(t *testing.T) {
	dir := t.TempDir()
	for _, dir := range []string{dir, filepath.Join(dir, "gone")} {
		if _, err := Client(dir); !errors.Is(err, ErrNotRunning) {
			t.Errorf("got %v", err)
		}
	}
	i := start(t, dir, hello)
	c := client(t, dir)
	i.Close()
	if _, _, err := post(c, ""); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the end: got %v", err)
	}
	if err := i.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestCloseWithoutServe(t *testing.T) {
	dir := t.TempDir()
	i := must(Acquire(dir))
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if err := i.Serve(hello); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 || filepath.Base(left[0]) != lockName {
		t.Errorf("left %q", left)
	}
}

func TestAcquireNeedsTheFolder(t *testing.T) {
	if _, err := Acquire(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, os.ErrNotExist) || Message(err).String() != "The data folder is missing." {
		t.Errorf("got %v", err)
	}
}

func TestAFolderHasOneName(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no links here: ", err)
	}
	if _, err := os.Stat(link); err != nil {
		t.Skip("links lead nowhere here, as under Wine: ", err)
	}
	start(t, dir, hello)
	if _, err := Acquire(link); !errors.Is(err, ErrRunning) {
		t.Errorf("got %v", err)
	}
	if answer, _, err := post(client(t, link+"/."), "x"); answer != "hello x" || err != nil {
		t.Errorf("got %q, %v", answer, err)
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, hello)
	c := client(t, dir)
	if _, status, err := post(c, strings.Repeat("x", maxBody)); status != http.StatusOK || err != nil {
		t.Errorf("1 MiB: %d, %v", status, err)
	}
	// The server may close before it has read everything: then the client sees a broken connection instead of the answer.
	if _, status, err := post(c, strings.Repeat("x", maxBody+1)); err == nil && status != http.StatusRequestEntityTooLarge {
		t.Errorf("more: %d", status)
	}
}

// stream sends lines for ever and reports the end of its request.
func stream(ended chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "line")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		ended <- r.Context().Err()
	})
}

func TestStreamEndsWithItsInstance(t *testing.T) {
	dir := t.TempDir()
	ended := make(chan error, 1)
	i := start(t, dir, stream(ended))
	resp := openStream(t, t.Context(), client(t, dir))
	defer resp.Body.Close()
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// openStream returns once it has the first line of a stream.
func openStream(t *testing.T, ctx context.Context, c *http.Client) *http.Response {
	t.Helper()
	req := must(http.NewRequestWithContext(ctx, http.MethodGet, "http://countersign/stream", nil))
	resp := must(c.Do(req))
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "line\n" {
		t.Fatal(line, err)
	}
	return resp
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }
