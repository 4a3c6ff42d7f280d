package tunnel

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/net/http/httpproxy"
)

const (
	dialTime  = 15 * time.Second
	proxyTime = 15 * time.Second
)

// proxyFromEnvironment names the proxy for a TLS connection to hostport: HTTPS_PROXY, else ALL_PROXY, unless
// NO_PROXY excludes it (all also in lower case). Nil means none.
func proxyFromEnvironment(hostport string) (*url.URL, error) {
	config := httpproxy.FromEnvironment()
	for _, name := range []string{"ALL_PROXY", "all_proxy"} {
		if config.HTTPSProxy == "" {
			config.HTTPSProxy = os.Getenv(name)
		}
	}
	return config.ProxyFunc()(&url.URL{Scheme: "https", Host: hostport})
}

// proxyError is a proxy that does not let us through.
type proxyError struct {
	proxy  string // host:port
	status int    // the proxy's answer, 0 if it gave none
	err    error
}

func (e *proxyError) Error() string {
	if e.err != nil {
		return fmt.Sprintf("proxy %s: %v", e.proxy, e.err)
	}
	return fmt.Sprintf("proxy %s answered %d", e.proxy, e.status)
}

func (e *proxyError) Unwrap() error { return e.err }

// dialDirect makes one try without a proxy, or to a SOCKS proxy on the SDK's behalf.
func dialDirect(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTime, KeepAlive: 15 * time.Second}
	return dialer.DialContext(ctx, network, address)
}

// dialThrough returns a dial function that makes one try through an HTTP proxy with CONNECT (RFC 9110 section 9.3.6).
func dialThrough(proxy *url.URL) func(ctx context.Context, network, address string) (net.Conn, error) {
	port := proxy.Port()
	switch {
	case port != "":
	case proxy.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	at := net.JoinHostPort(proxy.Hostname(), port)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialDirect(ctx, network, at)
		if err != nil {
			return nil, &proxyError{proxy: at, err: err}
		}
		if proxy.Scheme == "https" {
			conn = tls.Client(conn, &tls.Config{ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12})
		}
		status, err := ask(ctx, conn, proxy, address)
		if err != nil || status != http.StatusOK {
			conn.Close()
			return nil, &proxyError{proxy: at, status: status, err: err}
		}
		return conn, nil
	}
}

// ask requests the way to address and returns the proxy's status.
func ask(ctx context.Context, conn net.Conn, proxy *url.URL, address string) (status int, err error) {
	if err := conn.SetDeadline(time.Now().Add(proxyTime)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	request := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: make(http.Header),
	}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		secret := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		request.Header.Set("Proxy-Authorization", "Basic "+secret)
	}
	if err := request.Write(conn); err != nil {
		return 0, err
	}
	// Nothing follows the proxy's answer before we speak TLS, so the buffer ends with it.
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, conn.SetDeadline(time.Time{})
}
