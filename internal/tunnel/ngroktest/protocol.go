package ngroktest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"golang.ngrok.com/muxado/v2"
)

// Types that begin a stream of the agent protocol, as a big-endian uint32 (ngrok.md, "The agent protocol").
const (
	typeAuth       muxado.StreamType = 0
	typeBind       muxado.StreamType = 1
	typeUnbind     muxado.StreamType = 2
	typeProxy      muxado.StreamType = 3
	typeStop       muxado.StreamType = 5
	typeSrvInfo    muxado.StreamType = 8
	typeStopTunnel muxado.StreamType = 9
	typePatch      muxado.StreamType = 10
	typeHeartbeat  muxado.StreamType = 0xFFFFFFFF
)

type authRequest struct {
	ClientID string `json:"ClientId"`
	Extra    struct{ Authtoken, Cookie string }
}

type authResponse struct {
	Version  string
	ClientID string `json:"ClientId"`
	Error    string
	Extra    authExtra
}

type authExtra struct {
	Version, Region, Cookie, AccountName, PlanName, AgentSessionID string
}

type bindRequest struct {
	ID    string `json:"Id"`
	Proto string
	Opts  struct{ URL, Domain string }
	Extra struct{ Token string }
}

type bindResponse struct {
	ID    string `json:"Id"`
	URL   string
	Proto string
	Opts  any
	Error string
	Extra bindExtra
}

type bindExtra struct{ Token, TunnelID string }

type bindOptions struct{ URL string }

type unbindRequest struct {
	ID string `json:"Id"`
}

type plainResponse struct{ Error string }

type srvInfoResponse struct{ Region string }

type stopTunnel struct {
	ID        string `json:"Id"`
	Message   string
	ErrorCode string
}

type proxyHeader struct {
	ID             string `json:"Id"`
	ClientAddr     string
	Proto          string
	EdgeType       string
	PassthroughTLS bool
}

// refusal is an error text as ngrok writes it: the code on a line of its own at the end.
func refusal(message, code string) string {
	return fmt.Sprintf("%s\r\n\r\n%s\r\n", message, code)
}

// writeProxyHeader writes the length in little-endian, unlike everything else in the protocol, and the header.
func writeProxyHeader(w io.Writer, header proxyHeader) error {
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	framed := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	_, err = w.Write(append(framed, text...))
	return err
}

func readJSON(stream muxado.Stream, into any) error { return json.NewDecoder(stream).Decode(into) }

func writeJSON(stream muxado.Stream, value any) error { return json.NewEncoder(stream).Encode(value) }
