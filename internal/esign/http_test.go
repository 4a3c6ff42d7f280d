package esign

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAConnectionWithoutAByteIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := &watchedConn{Conn: near, idle: idleTimeout}
		start := time.Now()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != idleTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestWhileOneDirectionMovesTheOtherMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := &watchedConn{Conn: near, idle: idleTimeout}
		answer := make(chan error)
		go func() { // what net/http does during an upload
			_, err := io.ReadFull(c, make([]byte, 2))
			answer <- err
		}()
		for range 10 {
			go io.ReadFull(far, make([]byte, 1))
			time.Sleep(idleTimeout - time.Second)
			if _, err := c.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		io.WriteString(far, "ok")
		if err := <-answer; err != nil {
			t.Error(err)
		}
		near.Close()
		far.Close()
	})
}

func TestTheDefaultClientSaysWhatItMeansAboutCertificates(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	s.Config.ErrorLog = nil
	client := NewHTTPClient()
	defer client.CloseIdleConnections()
	_, err := NewClient(Config{AuthURL: s.URL, BaseURL: s.URL, ClientID: "c", HTTP: client}, &tokens{}).Status(context.Background(), "p")
	var unknown x509.UnknownAuthorityError
	if kindOf(err) != Network || !errors.As(err, &unknown) || !strings.Contains(Message(err).String(), "not trusted") {
		t.Errorf("%v (%s)", err, Message(err).String())
	}
}

func TestEveryKindHasASentence(t *testing.T) {
	for _, k := range []Kind{SignedOut, Denied, BadClient, Forbidden, NotFound, Refused, TooMany, Server, Network, NotReady, BadAnswer,
		Unknown, NotKept, Interrupted, "new"} {
		s := Message(&Error{Op: "o", Kind: k}).String()
		if s == "" || !strings.HasSuffix(s, ".") || strings.Contains(s, "!") {
			t.Errorf("%s: %q", k, s)
		}
	}
	for _, err := range []error{ErrSignedOut, ErrOutcomeUnknown, context.DeadlineExceeded, errors.New("x")} {
		if Message(err).String() == "" {
			t.Errorf("%v", err)
		}
	}
	if Message(nil).String() != "" {
		t.Error("nil has one")
	}
	for _, p := range []FileProblem{FileInvalid, FileUnsupported, FileProtected, FileRejected, FileTooLarge, FileChanged, FileUnreadable, FileEmpty} {
		if s := Message(&FileError{FileName: "Offer.pdf", Problem: p}).String(); !strings.Contains(s, "“Offer.pdf”") {
			t.Errorf("%s: %q", p, s)
		}
	}
}

// net/http repeats requests over HTTP/2 without an end, see NewHTTPClient: a service that offers it is not taken up on it.
func TestNothingIsAskedOverHTTP2(t *testing.T) {
	var asked, over2 atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		over2.Add(int64(r.ProtoMajor - 1))
		io.Copy(io.Discard, r.Body)
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	service := NewHTTPClient()
	transport := service.Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	defer transport.CloseIdleConnections()

	cfg := Config{AuthURL: server.URL, BaseURL: server.URL, ClientID: "c", HTTP: service}
	client := NewClient(cfg, &tokens{})
	client.List(t.Context(), ListQuery{})
	client.Download(t.Context(), MasterFile, "p-1", "")
	client.Upload(t.Context(), fileOf("a.pdf", "%PDF-1.4", ""))
	client.AddPackage(t.Context(), offer())
	session := NewSession(cfg, &vault{token: "rt-0"})
	session.Access(t.Context())
	session.Revoke(t.Context())
	if asked.Load() < 6 || over2.Load() > 0 {
		t.Errorf("%d of %d requests went over HTTP/2", over2.Load(), asked.Load())
	}
}
