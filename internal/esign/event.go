package esign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The kinds of events interface.md names; service-facts.md, 11.3 adds the rest. Others exist and must be accepted.
const (
	PackageExecuted  = "package_executed"
	DocumentExecuted = "document_executed"
	DocumentSigned   = "document_signed"
	PackageAdd       = "package_add"
	PackageSent      = "package_sent"
	PackageRescinded = "package_rescinded" // assumed, see assumed.go
)

// Event is one notification (interface.md, "Payload fields"). What was null or absent is zero.
type Event struct {
	Action         string
	PackageID      string
	DocumentID     string
	RevisionID     string
	SignerID       string
	NextSignerID   string
	EventID        string
	OrganizationID string          // eventOwnerOrganizationId
	MemberID       string          // eventOwnerMemberId
	ExternalData   json.RawMessage // as sent, nil when null; a copy
	ExternalID     string          // a string as it is; any other JSON as its text
	Time           time.Time       // eventTime in UTC, zero when absent or unreadable
}

// ParseEvent reads the body of a notification whose signature was verified before. It is strict about what JSON is
// (valid, UTF-8, no key twice, bounded depth), because two readers must not see two events in one body, and lenient
// about what the fields hold. Its errors describe the form and never quote the body.
func ParseEvent(raw []byte) (Event, error) {
	raw = trimBOM(raw) // RFC 8259, 8.1 lets a parser ignore it
	if err := checkJSON(raw); err != nil {
		return Event{}, fmt.Errorf("the event cannot be read: %w", err)
	}
	var fields map[string]json.RawMessage // exact names: encoding/json would take PackageID for packageId in a struct
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return Event{}, errors.New("the event cannot be read: it is no JSON object")
	}
	var e Event
	for name, to := range map[string]*string{
		"action":                   &e.Action,
		"packageId":                &e.PackageID,
		"documentId":               &e.DocumentID,
		"revisionId":               &e.RevisionID,
		"signerId":                 &e.SignerID,
		"nextSignerId":             &e.NextSignerID,
		"eventId":                  &e.EventID,
		"eventOwnerOrganizationId": &e.OrganizationID,
		"eventOwnerMemberId":       &e.MemberID,
	} {
		v := fields[name]
		if len(v) > 0 && (v[0] == '{' || v[0] == '[' || v[0] == 't' || v[0] == 'f') {
			return Event{}, fmt.Errorf("the event cannot be read: %s is no string", name)
		}
		var t text
		if v != nil {
			t.UnmarshalJSON(v)
		}
		*to = string(t)
	}
	if nobody := strings.Trim(e.NextSignerID, "0-") == ""; nobody || e.NextSignerID == e.SignerID {
		e.NextSignerID = ""
	}
	e.ExternalData = bytes.Clone(rawOrNil(fields["externalData"]))
	e.ExternalID = externalID(fields["externalId"])
	var at stamp
	at.UnmarshalJSON(fields["eventTime"])
	e.Time = at.Time
	return e, nil
}

// externalID is a string's value or any other value's JSON text.
func externalID(raw json.RawMessage) string {
	raw = rawOrNil(raw)
	var s string
	if raw == nil || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	json.Compact(&b, raw)
	return b.String()
}

// checkJSON says what is wrong with the form of raw.
func checkJSON(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("it is not UTF-8")
	}
	if !json.Valid(raw) {
		return errors.New("it is not JSON")
	}
	return checkNames(raw)
}

// checkNames goes through valid JSON and says whether an object has a name twice, however it is escaped, or nesting
// goes too deep. It is called for every authentic event, so it looks at bytes rather than at a Decoder's tokens.
func checkNames(raw []byte) error {
	type level struct {
		names map[string]bool // nil in an array
		value bool            // a string here is a value, not a name
	}
	var open []level
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			open = append(open, level{names: map[string]bool{}})
		case '[':
			open = append(open, level{value: true})
		case '}', ']':
			open = open[:len(open)-1]
		case ':':
			open[len(open)-1].value = true
		case ',':
			top := &open[len(open)-1]
			top.value = top.names == nil
		case '"':
			start := i
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if len(open) == 0 || open[len(open)-1].value {
				continue
			}
			name := string(raw[start+1 : i])
			if strings.Contains(name, `\`) {
				json.Unmarshal(raw[start:i+1], &name)
			}
			if open[len(open)-1].names[name] {
				return errors.New("a name appears in it twice")
			}
			open[len(open)-1].names[name] = true
		}
		if len(open) > maxEventDepth {
			return errors.New("it is nested too deeply")
		}
	}
	return nil
}
