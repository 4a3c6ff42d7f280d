package nearby

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func TestMain(m *testing.M) {
	Interfaces = func() ([]net.Interface, error) {
		all, err := net.Interfaces()
		for _, i := range all {
			if i.Flags&net.FlagLoopback != 0 {
				return []net.Interface{i}, err
			}
		}
		return nil, err
	}
	m.Run()
}

func TestWhoKnowsTheNameFindsThePlaceAndNobodyElse(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 2)
	at := netip.MustParseAddrPort("127.0.0.1:7422")
	go func() { over <- Answer(ctx, "aaaa", at) }()
	go func() { over <- Answer(ctx, "bbbb", netip.MustParseAddrPort("0.0.0.0:7423")) }() // in parallel, on the same port
	find := func(name string, wait time.Duration) (found []netip.AddrPort) {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		err := Find(ctx, name, func(x netip.AddrPort) bool { found = append(found, x); return true })
		if err != nil && !errors.Is(err, ErrNowhere) {
			t.Error(err)
		}
		return found
	}
	if got := find("AAAA", 15*time.Second); len(got) != 1 || got[0] != at {
		t.Errorf("found %v", got)
	}
	if got := find("bbbb", 15*time.Second); len(got) != 1 || got[0].Port() != 7423 || !got[0].Addr().IsValid() || got[0].Addr().IsUnspecified() {
		t.Errorf("found %v", got)
	}
	if got := find("cccc", 1200*time.Millisecond); got != nil {
		t.Errorf("a name that is nobody's is found at %v", got)
	}
	cancel()
	for range 2 {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNoQuestionForTheNameIsNotAnswered(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:7422")
	ask := func(name string, kind dnsmessage.Type, response bool) []byte {
		m := dnsmessage.Message{Header: dnsmessage.Header{Response: response},
			Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}}}
		b, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		return answer(b, "aaaa", at)
	}
	if ask("aaaa"+service, dnsmessage.TypeSRV, false) == nil {
		t.Fatal("the name itself is not answered")
	}
	for what, reply := range map[string][]byte{
		"who is there at all": ask(strings.TrimPrefix(service, "."), dnsmessage.TypePTR, false), "the service": ask(strings.TrimPrefix(service, "."), dnsmessage.TypeSRV, false),
		"all of it": ask("aaaa"+service, dnsmessage.TypeALL, false), "another": ask("aaab"+service, dnsmessage.TypeSRV, false),
		"a response": ask("aaaa"+service, dnsmessage.TypeSRV, true), "nothing": answer(nil, "aaaa", at),
	} {
		if reply != nil {
			t.Errorf("%s is answered", what)
		}
	}
}

func TestOnlyAnAnswerAboutTheNameNamesAPlace(t *testing.T) {
	name, from := dnsmessage.MustNewName("aaaa"+service), netip.MustParseAddr("192.0.2.7")
	for _, other := range []string{"aaaa", "aaab"} {
		m := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(other + service), Type: dnsmessage.TypeSRV}}}
		b, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		got, want := place(answer(b, other, netip.MustParseAddrPort("0.0.0.0:7422")), name, from), netip.AddrPort{}
		if other == "aaaa" {
			want = netip.MustParseAddrPort("192.0.2.7:7422")
		}
		if got != want {
			t.Errorf("of %s: %v", other, got)
		}
		if place(b, name, from).IsValid() {
			t.Error("a question names a place")
		}
	}
}
