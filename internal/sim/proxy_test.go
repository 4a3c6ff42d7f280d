package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// startProxy puts the office's own proxy before it: it takes what comes to the public address, and loses, doubles and
// delays it when it is told to.
func (w *world) startProxy() error {
	var ports []net.Listener
	for _, address := range []string{officeURL, secondURL} {
		l, err := w.net.listen(nil, strings.TrimPrefix(address, "https://")+":443")
		if err != nil {
			return err
		}
		ports = append(ports, l)
	}
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return w.net.dial(ctx, nil, officePort) },
		DisableKeepAlives: true,
	}
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
		if err != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		status, header, answer := w.pass(r, transport, body)
		for name, values := range header {
			rw.Header()[name] = values
		}
		rw.WriteHeader(status)
		rw.Write(answer)
	})}
	desk, err := w.net.listen(nil, "desk.test:443") // of the office, too, and takes whatever comes
	if err != nil {
		return err
	}
	other := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	for _, l := range ports {
		go server.Serve(l)
	}
	go other.Serve(desk)
	w.wire.mu.Lock()
	defer w.wire.mu.Unlock()
	w.wire.servers = []*http.Server{server, other}
	return nil
}

// pass hands a request on.
func (w *world) pass(r *http.Request, transport *http.Transport, body []byte) (status int, header http.Header, answer []byte) {
	var event struct {
		ID string `json:"eventId"`
	}
	json.Unmarshal(body, &event) // a browser's request has none
	w.model.stored.delivered(event.ID)
	key := "hook " + r.Method + " " + r.URL.Path + event.ID
	n, kind := w.wire.begin(key, "hook")
	w.wire.mu.Lock()
	w.wire.requests-- // which nobody planned but the service
	w.wire.deliveries++
	w.wire.mu.Unlock()
	chance := keyed(w.seed, key, n)
	pause(r.Context(), between(chance, time.Millisecond, 50*time.Millisecond))
	if draw := chance.IntN(60); kind == "" && event.ID != "" && draw < 2 { // now and then it does so all the same
		kind = []string{"hook-twice", "hook-lost"}[draw]
	}
	w.trace.add("%s %s", key, kind)
	bad := http.StatusBadGateway
	once := func() (int, http.Header, []byte) {
		again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+officePort+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			return bad, nil, nil
		}
		again.Header = r.Header.Clone()
		again.Host = r.Host
		got, err := transport.RoundTrip(again)
		if err != nil {
			return bad, nil, nil
		}
		defer got.Body.Close()
		said, err := io.ReadAll(got.Body)
		if err != nil {
			return bad, nil, nil
		}
		if event.ID != "" && got.StatusCode/100 == 2 {
			w.model.stored.acknowledged(event.ID)
		}
		return got.StatusCode, got.Header, said
	}
	switch kind {
	case "hook-lost": // it arrives, and the service hears nothing good of it
		once()
		return bad, nil, nil
	case "hook-twice":
		once()
		pause(r.Context(), between(chance, time.Millisecond, time.Second))
	case "hook-dropped":
		return bad, nil, nil
	case "hook-late":
		pause(r.Context(), between(chance, time.Second, 9*time.Second))
	}
	return once()
}
