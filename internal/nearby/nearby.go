// Package nearby finds one computer of the local network by a name that nobody knows but who is to find it. It asks by multicast
// DNS (RFC 6762) where the service of that name is (RFC 2782), once and from a port of its own, so that whoever asks need not listen.
//
// What it promises: who does not ask for that very name gets no answer, and nothing is announced; whoever asks for it is answered
// alone. Libraries for DNS-SD list a service to everybody, and look for lists.
//
// What it must not know: what is found, and whether it is what was looked for: anybody may answer.
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
	maxFound  = 8    // addresses that are tried of those that one computer says
)

var (
	group      = &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353}
	Interfaces = net.Interfaces // tests stay on the loopback
)

func usable() (list []net.Interface) {
	all, _ := Interfaces() // none where they cannot be read
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && i.Flags&(net.FlagMulticast|net.FlagLoopback) != 0 {
			list = append(list, i)
		}
	}
	return list
}

// Answer tells whoever asks for name that it is at the address, until ctx ends. An address without an IP is this computer's, as
// the one that asks sees it.
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
		case err != nil: // of one packet
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if reply := answer(b[:n], name, at); reply != nil {
			_, _ = conn.WriteToUDPAddrPort(reply, from) // it asks again
		}
	}
}

// listen listens on all interfaces that let it, beside others that do.
func listen() (conn *net.UDPConn, err error) {
	err = errors.New("there is no network")
	for _, i := range usable() {
		if conn == nil {
			conn, err = net.ListenMulticastUDP("udp4", &i, group)
		} else {
			_ = ipv4.NewPacketConn(conn).JoinGroup(&i, group) // one that cannot is left out
		}
	}
	if conn != nil {
		return conn, nil
	}
	return nil, err
}

// answer is what is said to a packet; nil for nothing.
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

// ErrNowhere means that nobody answered whom try took.
var ErrNowhere = errors.New("it was not found on the local network")

// Find asks for name until ctx ends, and has try look at each address that comes; with true it is found.
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
				_, _ = conn.WriteTo(question, group) // another interface may take it
			}
		}
		_ = conn.SetReadDeadline(time.Now().Add(askEvery)) // it cannot fail on what is open
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

// place is where an answer from somebody says that the service is; not valid for no answer.
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
