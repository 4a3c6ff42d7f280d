package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/proxy/proxytest"
	"countersign/internal/trytest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noEnvironment removes this computer's proxy variables.
func noEnvironment(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func parsed(t testing.TB, address string) *url.URL {
	t.Helper()
	if address == "" {
		return nil
	}
	u := must(url.Parse(address))
	return u
}

// says is a system that always gives the same answer.
func says(t testing.TB, source Source, ways ...string) func(context.Context, *url.URL) (Answer, error) {
	var list []*url.URL
	for _, w := range ways {
		list = append(list, parsed(t, w))
	}
	return func(context.Context, *url.URL) (Answer, error) { return Answer{list, source}, nil }
}

func TestTheEnvironmentWinsOverTheSystem(t *testing.T) {
	for _, c := range []struct {
		name, https, all, no string
		host, want           string
		source               Source
	}{
		{"nothing is set", "", "", "", "sign.test:443", "system:8080", System},
		{"HTTPS_PROXY", "http://env:3128", "", "", "sign.test:443", "env:3128", Environment},
		{"without a scheme", "env:3128", "", "", "sign.test:443", "env:3128", Environment},
		{"ALL_PROXY", "", "socks5h://env:1080", "", "sign.test:443", "env:1080", Environment},
		{"the scheme that GNOME writes", "", "socks://env:1080/", "", "sign.test:443", "env:1080", Environment},
		{"HTTPS_PROXY before ALL_PROXY", "http://env:3128", "http://other:1", "", "sign.test:443", "env:3128", Environment},
		{"NO_PROXY", "http://env:3128", "", "sign.test", "sign.test:443", "", Environment},
		{"NO_PROXY for another", "http://env:3128", "", "other.test", "sign.test:443", "env:3128", Environment},
		{"NO_PROXY alone counts for the system's proxy", "", "", ".test", "sign.test:443", "", Environment},
		{"NO_PROXY alone, for another", "", "", "other.test", "sign.test:443", "system:8080", System},
		{"this computer by name", "http://env:3128", "", "", "localhost:443", "", Here},
		{"this computer by address", "", "", "", "127.0.0.1:8443", "", Here},
		{"this computer by its other address", "http://env:3128", "", "", "[::1]:443", "", Here},
		{"a name of this computer", "http://env:3128", "", "", "office.localhost:443", "", Here},
	} {
		t.Run(c.name, func(t *testing.T) {
			noEnvironment(t)
			t.Setenv("HTTPS_PROXY", c.https)
			t.Setenv("ALL_PROXY", c.all)
			t.Setenv("NO_PROXY", c.no)
			f := &Finder{Ask: says(t, System, "http://system:8080")}
			got := must(f.Find(context.Background(), c.host))
			if got.Name() != c.want || got.Source != c.source {
				t.Errorf("the way is %q by %q, want %q by %q", got.Name(), got.Source, c.want, c.source)
			}
		})
	}
}

func TestAProxyThatCannotBeReadIsNotTakenForNone(t *testing.T) {
	for _, value := range []string{"http://user:proxySECRET@:::", "gopher://proxy:70", "http://"} {
		noEnvironment(t)
		t.Setenv("HTTPS_PROXY", value)
		_, err := OfSystem().DialContext(context.Background(), "tcp", "sign.test:443")
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Message().String(), "HTTPS_PROXY") || strings.Contains(e.Error(), "SECRET") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestTheSystemIsAskedAnew(t *testing.T) {
	noEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		f := &Finder{Ask: func(context.Context, *url.URL) (Answer, error) {
			asked.Add(1)
			return Answer{[]*url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}, System}, nil // nobody listens there
		}}
		ask := func(why string, want int32) {
			t.Helper()
			if _, err := f.Find(context.Background(), "sign.test:443"); err != nil || asked.Load() != want {
				t.Errorf("%s: asked %d times, want %d (%v)", why, asked.Load(), want, err)
			}
		}
		ask("the first time", 1)
		ask("at once", 1)
		time.Sleep(keepTime)
		ask("after a while", 2)
		f.Forget()
		ask("in another network", 3)
	})
	var asked atomic.Int32
	f := &Finder{Ask: func(context.Context, *url.URL) (Answer, error) {
		asked.Add(1)
		return Answer{[]*url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}, System}, nil
	}}
	for range 2 {
		if _, err := f.DialContext(context.Background(), "tcp", "sign.test:443"); err == nil {
			t.Fatal("a proxy that is not there has connected")
		}
	}
	expect(t, asked.Load(), 2, "asked %d times for two ways that led nowhere")
}

func TestASystemThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	noEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		f := &Finder{Ask: func(ctx context.Context, _ *url.URL) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}}
		began := time.Now()
		got, err := f.Find(context.Background(), "sign.test:443")
		if err != nil || got.First() != nil || time.Since(began) > askTime {
			t.Errorf("%+v, %v after %v", got, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := f.Find(ctx, "other.test:443"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whoever had given up got %v", err)
		}
		time.Sleep(askTime)
	})
}

// service is a TLS server that only the proxy knows by its name.
func service(t *testing.T) (*httptest.Server, map[string]string) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	t.Cleanup(s.Close)
	return s, map[string]string{"example.com:443": s.Listener.Addr().String()} // a name in httptest's certificate
}

func start(t *testing.T, o proxytest.Options) *proxytest.Proxy {
	t.Helper()
	p := must(proxytest.Start(o))
	t.Cleanup(p.Close)
	return p
}

// get sends a request to the service through f.
func get(s *httptest.Server, f *Finder) error {
	client := s.Client()
	transport := client.Transport.(*http.Transport).Clone()
	transport.DialContext, transport.DisableKeepAlives = f.DialContext, true
	response, err := (&http.Client{Transport: transport}).Get("https://example.com/")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != "hello" {
		err = errors.New("got " + string(body))
	}
	return err
}

func TestTheNextProxyIsTriedWhenOneLeadsNowhere(t *testing.T) {
	noEnvironment(t)
	s, hosts := service(t)
	p := start(t, proxytest.Options{Hosts: hosts})
	f := &Finder{Ask: says(t, Script, "http://127.0.0.1:1", p.URL().String(), "")}
	noErr(t, get(s, f))
	noErr(t, get(s, f))
	if got := p.Connected(); !slices.Equal(got, []string{"example.com:443", "example.com:443"}) {
		t.Errorf("connected to %v", got)
	}
	if a, err := f.Find(context.Background(), "example.com:443"); err != nil || a.Name() != p.URL().Host {
		t.Errorf("the next try begins with %q (%v), not with what led there", a.Name(), err)
	}
}

func TestAProxyThatIsSilentHoldsNobodyUpWhereThereIsAnother(t *testing.T) {
	noEnvironment(t)
	s, hosts := service(t)
	p := start(t, proxytest.Options{Hosts: hosts})
	listener := must(net.Listen("tcp", "127.0.0.1:0")) // accepts no connections
	defer listener.Close()
	f := &Finder{Ask: says(t, Script, "http://"+listener.Addr().String(), p.URL().String()), patience: 10 * time.Millisecond}
	conn := must(within(t, f))
	conn.Close()
	if a, err := f.Find(context.Background(), "example.com:443"); err != nil || a.Name() != p.URL().Host {
		t.Errorf("the next try begins with %q (%v), not with what led there", a.Name(), err)
	}
	noErr(t, get(s, f))
}

func TestTwoThatFindTheSameWayAtOnceKeepIt(t *testing.T) {
	noEnvironment(t)
	f := &Finder{Ask: says(t, Script, "http://127.0.0.1:1", "http://127.0.0.1:2", "")}
	a := must(f.Find(t.Context(), "example.com:443"))
	for range 2 {
		f.prefer("example.com:443", a.Ways[1])
		if now, err := f.Find(t.Context(), "example.com:443"); err != nil || now.First() != a.Ways[1] || len(now.Ways) != 3 {
			t.Errorf("%v, %v", now, err)
		}
	}
}

// within dials with less time than a proxy may take to answer.
func within(t *testing.T, f *Finder) (net.Conn, error) {
	ctx, stop := context.WithTimeout(t.Context(), proxyTime*2/3)
	defer stop()
	return f.DialContext(ctx, "tcp", "example.com:443")
}

func TestThePasswordInTheEnvironmentSignsInToTheProxy(t *testing.T) {
	noEnvironment(t)
	s, hosts := service(t)
	p := start(t, proxytest.Options{Hosts: hosts, User: "user", Password: "proxySECRET"})
	t.Setenv("HTTPS_PROXY", p.URL().String())
	noErr(t, get(s, &Finder{}))

	wrong := p.URL()
	wrong.User = url.UserPassword("user", "wrongSECRET")
	t.Setenv("HTTPS_PROXY", wrong.String())
	_, err := (&Finder{}).DialContext(context.Background(), "tcp", "example.com:443")
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusProxyAuthRequired || strings.Contains(e.Error()+e.Message().String(), "SECRET") {
		t.Fatalf("the proxy that wants another password: %v", err)
	}
	if text := e.Message().String(); !strings.Contains(text, p.URL().Host) || !strings.Contains(text, "password") {
		t.Errorf("people read %q", text)
	}
}

func TestNobodyIsSignedInToAProxyThatTheNetworkNamed(t *testing.T) {
	noEnvironment(t)
	for _, scheme := range []string{"Negotiate", "NTLM", "Basic realm=\"office\""} {
		var asked, told atomic.Int32
		p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.Header.Get("Proxy-Authorization") != "" {
				told.Add(1)
			}
			w.Header().Set("Proxy-Authenticate", scheme)
			w.WriteHeader(http.StatusProxyAuthRequired)
		}))
		f := OfSystem()
		f.Ask = says(t, Detected, p.URL)
		_, err := f.DialContext(t.Context(), "tcp", "example.com:443")
		p.Close()
		var e *Error
		if !errors.As(err, &e) || e.Status != http.StatusProxyAuthRequired || asked.Load() != 1 || told.Load() != 0 {
			t.Errorf("%s: %v; asked %d times, %d with a sign-in", scheme, err, asked.Load(), told.Load())
		}
	}
}

func TestPeopleReadWhatTheProxySaid(t *testing.T) {
	noEnvironment(t)
	for _, c := range []struct {
		name    string
		options proxytest.Options
		want    []string
		browser bool
	}{
		{"it does not allow the address", proxytest.Options{Status: 403}, []string{"does not let", "example.com:443"}, false},
		{"it cannot reach the address", proxytest.Options{Hosts: map[string]string{"example.com:443": "127.0.0.1:1"}}, []string{"cannot reach", "example.com:443"}, false},
		{"it sends browsers to a page", proxytest.Options{Status: 302, Location: "http://login.office.test/"}, []string{"browser"}, true},
		{"it wants a sign-in in the browser", proxytest.Options{Status: 511}, []string{"browser"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, c.options)
			_, err := (&Finder{Ask: says(t, System, p.URL().String())}).DialContext(context.Background(), "tcp", "example.com:443")
			var e *Error
			if !errors.As(err, &e) || e.WantsBrowser() != c.browser || e.Page != c.options.Location {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if text := e.Message().String(); !strings.Contains(text, want) {
					t.Errorf("people read %q, without %q", text, want)
				}
			}
		})
	}
}

func TestAProxyThatSaysNothingUsefulIsNamed(t *testing.T) {
	noEnvironment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "220 mail SECRET ready\r\n")
			conn.Close()
		}
	}()
	at := listener.Addr().String()
	_, err = (&Finder{Ask: says(t, System, "http://"+at)}).DialContext(context.Background(), "tcp", "example.com:443")
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Message().String(), at) || strings.Contains(e.Error(), "SECRET") {
		t.Errorf("got %v", err)
	}
}

func TestAWayThatIsGivenUpEndsAtOnce(t *testing.T) {
	noEnvironment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts no connections
	noErr(t, err)
	defer listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = (&Finder{Ask: says(t, System, "http://"+listener.Addr().String())}).DialContext(ctx, "tcp", "example.com:443")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWhoeverHasGivenUpGetsAnErrorAndNoConnection(t *testing.T) {
	over, end := context.WithCancel(t.Context())
	end()
	conn, err := (&Finder{}).DialContext(over, "tcp", "127.0.0.1:9")
	if conn != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", conn, err)
	}
}

func TestAScriptThatNeverEndsIsBegunOnce(t *testing.T) {
	noEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		over := make(chan struct{})
		f := &Finder{Ask: alone(func(to *url.URL) (Answer, error) {
			begun.Add(1)
			<-over
			way, err := parseWay("proxy.test:3128")
			return Answer{[]*url.URL{way}, Script}, err
		})}
		for _, host := range []string{"sign.test:443", "auth.test:443"} {
			for range 5 {
				start := time.Now()
				a, err := f.Find(t.Context(), host)
				if err != nil || a.First() != nil || a.Source != Unread {
					t.Fatalf("the way is %+v, %v", a, err)
				}
				if took := time.Since(start); took > askTime {
					t.Errorf("it waited for %v", took)
				}
				time.Sleep(keepTime)
			}
		}
		expect(t, begun.Load(), 1, "the script was begun %d times")
		close(over)
		synctest.Wait()
		if a, err := f.Find(t.Context(), "sign.test:443"); err != nil || a.Name() != "proxy.test:3128" {
			t.Errorf("once it has ended, the way is %+v, %v", a, err)
		}
	})
}

func TestAScriptNamesNoMoreProxiesThanCanBeTried(t *testing.T) {
	noEnvironment(t)
	f := &Finder{Ask: alone(func(*url.URL) (Answer, error) { return Answer{make([]*url.URL, 10_000), Script}, nil })}
	if a, err := f.Find(t.Context(), "sign.test:443"); err != nil || len(a.Ways) > maxWays {
		t.Errorf("%d ways, %v", len(a.Ways), err)
	}
}

func names(ways []*url.URL) (list string) {
	for _, w := range ways {
		if list != "" {
			list += " "
		}
		if w == nil {
			list += "straight"
		} else {
			list += w.String()
		}
	}
	return list
}

func TestTheProxiesThatWindowsNamesAreRead(t *testing.T) {
	for list, want := range map[string]string{
		"":                                    "",
		"proxy:8080":                          "http://proxy:8080",
		"proxy":                               "http://proxy",
		"http://proxy:8080/":                  "http://proxy:8080/",
		"a:1;b:2":                             "http://a:1 http://b:2",
		"a:1 b:2; DIRECT":                     "http://a:1 http://b:2 straight",
		"http=a:1;https=b:2;ftp=c:3":          "http://b:2",
		"HTTPS=b:2":                           "http://b:2",
		"http=a:1":                            "",
		"socks=s:1080":                        "socks5://s:1080",
		"http=a:1;socks=s:1080":               "socks5://s:1080",
		"https=https://secure:443;socks=s:1":  "https://secure:443",
		"gopher://p:70;[2001:db8::1]:8080;:%": "http://[2001:db8::1]:8080",
	} {
		if got := names(waysFromList(list)); got != want {
			t.Errorf("%q is read as %q, want %q", list, got, want)
		}
	}
}

func TestTheProxiesThatDesktopsNameAreRead(t *testing.T) {
	got := names(waysFromURLs([]string{"http://a:1", "socks://s:1080", "ftp://x", "direct://"}))
	if want := "http://a:1 socks5://s:1080 straight"; got != want {
		t.Errorf("read as %q, want %q", got, want)
	}
}

func TestExceptionsOfTheSystemAreKept(t *testing.T) {
	for _, c := range []struct {
		exceptions, host string
		want             bool
	}{
		{"", "sign.test", false},
		{"sign.test", "sign.test", true},
		{"SIGN.test", "sign.TEST", true},
		{"*.test", "sign.test", true},
		{"*.test", "test", false},
		{"*test", "sign.test", true},
		{".test", "sign.test", true},
		{"10.*", "10.1.2.3", true},
		{"10.*", "110.1.2.3", false},
		{"192.168.*;<local>", "intranet", true},
		{"<local>", "sign.test", false},
		{"<local>", "2001:db8::1", false},
		{"https://sign.test", "sign.test", true},
		{"http://sign.test", "sign.test", false},
		{"sign.test:443", "sign.test", true},
		{"sign.test:8443", "sign.test", false},
		{"169.254/16", "169.254.9.9", true},
		{"10.0.0.0/8 other", "10.9.9.9", true},
		{"10.0.0.0/8", "11.0.0.1", false},
		{"[2001:db8::1]", "2001:db8::1", true},
		{"[", "sign.test", false},
		{"*", "sign.test", true},
	} {
		host := c.host
		if _, err := url.Parse("https://" + host + "/"); err != nil {
			host = "[" + host + "]"
		}
		if got := excluded(splitExceptions(c.exceptions), &url.URL{Scheme: "https", Host: host}); got != c.want {
			t.Errorf("%q excludes %q: %v", c.exceptions, c.host, got)
		}
	}
}

func TestTheSettingsOfMacOSAreRead(t *testing.T) {
	const fixed = `<dictionary> {
  ExceptionsList : <array> {
    0 : *.local
    1 : 169.254/16
    2 : intern.test
  }
  ExcludeSimpleHostnames : 1
  FTPPassive : 1
  HTTPEnable : 1
  HTTPPort : 1111
  HTTPProxy : plain.test
  HTTPSEnable : 1
  HTTPSPort : 8080
  HTTPSProxy : proxy.test
  __SCOPED__ : <dictionary> {
    en0 : <dictionary> {
      HTTPSProxy : scoped.test
    }
  }
}
`
	for _, c := range []struct {
		name, out, host, want string
		source                Source
	}{
		{"fixed", fixed, "sign.test", "http://proxy.test:8080", System},
		{"an exception", fixed, "intern.test", "straight", System},
		{"a name without a dot", fixed, "intranet", "straight", System},
		{"a network", fixed, "169.254.1.1", "straight", System},
		{"nothing", "<dictionary> {\n  FTPPassive : 1\n}\n", "sign.test", "straight", Nothing},
		{"switched off", "<dictionary> {\n  HTTPSEnable : 0\n  HTTPSProxy : proxy.test\n  HTTPSPort : 1\n}\n", "sign.test", "straight", Nothing},
		{"SOCKS", "<dictionary> {\n  SOCKSEnable : 1\n  SOCKSPort : 1080\n  SOCKSProxy : s.test\n}\n", "sign.test", "socks5://s.test:1080", System},
		{"a script", "<dictionary> {\n  ProxyAutoConfigEnable : 1\n  ProxyAutoConfigURLString : http://pac.test/\n}\n", "sign.test", "straight", Unread},
		{"a script, and a fixed one beside it", "<dictionary> {\n  HTTPSEnable : 1\n  HTTPSPort : 1\n  HTTPSProxy : p.test\n  ProxyAutoDiscoveryEnable : 1\n}\n", "sign.test", "http://p.test:1", System},
		{"garbage", "}}} : : {\n", "sign.test", "straight", Nothing},
	} {
		got := fromScutil(c.out, &url.URL{Scheme: "https", Host: c.host})
		if names(got.Ways) != c.want || got.Source != c.source {
			t.Errorf("%s: %q by %q, want %q by %q", c.name, names(got.Ways), got.Source, c.want, c.source)
		}
	}
}
