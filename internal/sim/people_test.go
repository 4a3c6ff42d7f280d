package sim

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing/synctest"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// ask has a person ask something of the program and wait for the answer; they give up when the program ends.
func (w *world) ask(patience time.Duration, what func(ctx context.Context, a *agent.Agent)) {
	if w.office == nil {
		return
	}
	a := w.office
	ctx, cancel := context.WithTimeout(w.living, patience)
	w.people.Go(func() {
		defer cancel()
		what(ctx, a)
	})
	synctest.Wait()
}

// signIn has somebody sign in, and waits for it.
func (w *world) signIn() error {
	var err error
	done := make(chan struct{})
	w.ask(3*time.Minute, func(ctx context.Context, a *agent.Agent) {
		err = a.SignIn(ctx, agent.SignInOptions{}, w.browse)
		close(done)
	})
	<-done
	if err == nil {
		w.model.member()
		w.lapsed, w.mayBeOut = false, w.full // what a full disk does not keep is lost with the process
		w.owesSweep("somebody signed in")
	}
	w.trace.add("signed in: %v", err)
	return err
}

// browse plays the browser, which follows wherever it is sent.
func (w *world) browse(address string) error {
	h, a, paste := w.host, w.office, w.settings.Redirect == office.RedirectPaste
	w.people.Go(func() {
		dial := func(ctx context.Context, _, to string) (net.Conn, error) { return w.net.dial(ctx, h, to) }
		transport := &http.Transport{DialContext: dial, DialTLSContext: dial}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if paste && r.URL.Path == "/oauth/callback" {
				return http.ErrUseLastResponse
			}
			return nil
		}
		answer, err := client.Get(address)
		if err != nil {
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if back := answer.Header.Get("Location"); paste && back != "" {
			a.Paste(back)
		}
	})
	return nil
}
