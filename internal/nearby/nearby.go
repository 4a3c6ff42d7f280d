// Package nearby finds a computer on the local network by a secret name that only the two sides know. It asks by multicast
// DNS (RFC 6762) for the service of that name (RFC 2782), as a one-shot query from a port of its own, so that the asking
// side need not listen.
//
// What it promises: only a query for exactly that name is answered, the answer goes only to the asker, and nothing is
// announced. Libraries for DNS-SD announce a service to everybody, and browse for services.
//
// What it must not know: what is found, and whether it is genuine: anybody may answer.
package nearby

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/ipv4"
)

const (
	service   = "._countersign._tcp.local."
	askEvery  = time.Second
	maxPacket = 9000 // bytes (RFC 6762, 17)
	maxFound  = 8    // addresses tried from each computer that answers
)

var (
	group      = &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353}
	Interfaces = net.Interfaces // tests stay on the loopback
)

func usable() (list []net.Interface) {
	all, _ := Interfaces() // empty if they cannot be read
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && i.Flags&(net.FlagMulticast|net.FlagLoopback) != 0 {
			list = append(list, i)
		}
	}
	return list
}

// Answer answers queries for name with the address, until ctx ends. If the address has no IP, the asker uses the one from
// which the answer comes.
func Answer(ctx context.Context, name string, at netip.AddrPort) error {
	conn, err := listen()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for b := make([]byte, maxPacket); ; {
		n, from, err := conn.ReadFromUDPAddrPort(b)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // an error for one packet
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if reply := answer(b[:n], name, at); reply != nil {
			_, _ = conn.WriteToUDPAddrPort(reply, from) // the asker repeats its query
		}
	}
}

// listen listens on every interface that allows it.
func listen() (conn *net.UDPConn, err error) {
	err = errors.New("there is no network")
	for _, i := range usable() {
		if conn == nil {
			conn, err = net.ListenMulticastUDP("udp4", &i, group)
		} else {
			_ = ipv4.NewPacketConn(conn).JoinGroup(&i, group) // skips an interface that fails
		}
	}
	if conn != nil {
		return conn, nil
	}
	return nil, err
}

// answer is the reply to a packet; nil for none.
func answer(packet []byte, name string, at netip.AddrPort) []byte {
	var p dnsmessage.Parser
	head, err1 := p.Start(packet)
	q, err2 := p.Question()
	if err := errors.Join(err1, err2); err != nil || head.Response || q.Type != dnsmessage.TypeSRV || !strings.EqualFold(q.Name.String(), name+service) {
		return nil
	}
	about := func(name dnsmessage.Name) dnsmessage.ResourceHeader {
		return dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 1}
	}
	host := dnsmessage.MustNewName("hub.local.")
	m := dnsmessage.Message{
		Header: dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true}, Questions: []dnsmessage.Question{q},
		Answers: []dnsmessage.Resource{{Header: about(q.Name), Body: &dnsmessage.SRVResource{Port: at.Port(), Target: host}}},
	}
	if ip := at.Addr().Unmap(); ip.Is4() && !ip.IsUnspecified() {
		m.Additionals = []dnsmessage.Resource{{Header: about(host), Body: &dnsmessage.AResource{A: ip.As4()}}}
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// ErrNowhere means that nobody answered, or that try accepted none of the answers.
var ErrNowhere = errors.New("it was not found on the local network")

// Find asks for name until ctx ends, and calls try with each address in an answer. Once try returns true, it stops.
func Find(ctx context.Context, name string, try func(netip.AddrPort) bool) error {
	full, err := dnsmessage.NewName(name + service)
	if err != nil {
		return err
	}
	m := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: full, Type: dnsmessage.TypeSRV, Class: dnsmessage.ClassINET}}}
	question, err := m.Pack()
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	tried, said := map[netip.AddrPort]bool{}, map[netip.Addr]int{}
	for b := make([]byte, maxPacket); ctx.Err() == nil; {
		for _, i := range usable() {
			if ipv4.NewPacketConn(conn).SetMulticastInterface(&i) == nil {
				_, _ = conn.WriteTo(question, group) // other interfaces may still work
			}
		}
		_ = conn.SetReadDeadline(time.Now().Add(askEvery)) // cannot fail on an open connection
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
				break
			}
			at := place(b[:max(n, 0)], full, from.Addr())
			if err != nil || !at.IsValid() || tried[at] || said[from.Addr()] >= maxFound {
				continue
			}
			said[from.Addr()]++
			if tried[at] = true; try(at) {
				return nil
			}
		}
	}
	return ErrNowhere
}

// place is the address of the service according to an answer; not valid if the packet is no answer.
func place(packet []byte, name dnsmessage.Name, from netip.Addr) (at netip.AddrPort) {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || !m.Response {
		return at
	}
	for _, r := range append(m.Answers, m.Additionals...) {
		switch body := r.Body.(type) {
		case *dnsmessage.SRVResource:
			if strings.EqualFold(r.Header.Name.String(), name.String()) {
				at = netip.AddrPortFrom(from.Unmap(), body.Port)
			}
		case *dnsmessage.AResource:
			at = netip.AddrPortFrom(netip.AddrFrom4(body.A), at.Port())
		}
	}
	if at.Port() == 0 {
		return netip.AddrPort{}
	}
	return at
}
