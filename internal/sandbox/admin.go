package sandbox

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// adminHandler is the admin port: the controls of a Server as JSON over HTTP on a loopback address, for tests and for trying
// out failures. A POST may leave out its body. Every answer is 200 with JSON, or an error {"error","message"}.
func (s *Server) adminHandler() http.Handler {
	type body struct {
		PackageID string `json:"package_id"`
		EventID   string `json:"event_id"`
		Order     string
		Bytes     int64
		PDF       []byte
	}
	mux := http.NewServeMux()
	for pattern, fn := range map[string]func(w http.ResponseWriter, r *http.Request) (any, error){
		"GET /endpoints":          adminCall(func(struct{}) (any, error) { return append([]string{}, s.EndpointURLs()...), nil }),
		"GET /packages":           adminCall(func(struct{}) (any, error) { return s.Packages(), nil }),
		"POST /sign":              adminCall(func(in body) (any, error) { return nil, s.SignAll(in.PackageID) }),
		"GET /events":             adminCall(func(struct{}) (any, error) { return s.Deliveries() }),
		"POST /events/hold":       adminCall(func(struct{}) (any, error) { s.Hold(); return nil, nil }),
		"POST /events/release":    adminCall(func(in body) (any, error) { return nil, s.Release(in.Order) }),
		"POST /events/disturb":    adminCall(func(in Disturbance) (any, error) { s.Disturb(in); return nil, nil }),
		"POST /events/redeliver":  adminCall(func(in body) (any, error) { return nil, s.Redeliver(in.EventID) }),
		"GET /faults":             adminCall(func(struct{}) (any, error) { return s.Faults(), nil }),
		"POST /faults":            adminCall(func(in Fault) (any, error) { s.Inject(in); return nil, nil }),
		"DELETE /faults":          adminCall(func(struct{}) (any, error) { s.Heal(0); return nil, nil }),
		"POST /tokens/expire":     adminCall(func(struct{}) (any, error) { return nil, s.ExpireAccessTokens() }),
		"POST /tokens/revoke":     adminCall(func(struct{}) (any, error) { return nil, s.RevokeRefreshTokens() }),
		"POST /downloads/pad":     adminCall(func(in body) (any, error) { s.PadDownloads(in.Bytes); return nil, nil }),
		"POST /downloads/replace": adminCall(func(in body) (any, error) { return nil, s.Replace(in.PackageID, in.PDF) }),
		"GET /requests":           adminCall(func(struct{}) (any, error) { return s.Requests(), nil }),
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := fn(w, r)
			if err != nil {
				s.writeError(w, r, err)
				return
			}
			if answer == nil {
				answer = object{}
			}
			writeJSON(w, http.StatusOK, answer)
		})
	}
	return s.onlyPrograms(mux)
}

// adminCall is an operation that reads T.
func adminCall[T any](fn func(T) (any, error)) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		var in T
		if err := readJSON(w, r, "admin", &in); err != nil {
			return nil, err
		}
		return fn(in)
	}
}

// onlyPrograms keeps web pages out: no page may act here because a browser on this machine can reach the port.
func (s *Server) onlyPrograms(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.workers.Add(1)
		defer s.workers.Done()
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); (ip == nil || !ip.IsLoopback()) && host != "localhost" || r.Header.Get("Origin") != "" {
			writeJSON(w, http.StatusForbidden, errorBody("admin_not_authorized", "The admin port is for programs on this machine."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// listenLoopback refuses to open the admin port to others.
func listenLoopback(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("opening the admin port %s: %w", address, err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("the admin port %s is not on a loopback address", address)
	}
	return l, nil
}
