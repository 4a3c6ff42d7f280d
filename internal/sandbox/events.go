package sandbox

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Kinds of events (interface.md, events; service-facts.md section 11.3).
const (
	actionExecuted         = "package_executed"
	actionDocumentExecuted = "document_executed"
	actionSigned           = "document_signed"
	actionAdd              = "package_add"
	actionSent             = "package_sent"
	actionRescinded        = "package_rescinded"
)

// event is one notification as it is sent: the bytes are made once and never change, also when it is sent again.
type event struct {
	ID     string
	Action string
	Body   []byte
}

// field is one property of an event; value is JSON.
type field struct {
	name  string
	value []byte
}

func textField(name, value string) field {
	raw, _ := json.Marshal(value) // a string always encodes
	return field{name, raw}
}

func rawField(name string, value json.RawMessage) field { return field{name, orNull(value)} }

// newEvent writes the body. The order of the properties and the digits of eventTime differ from event to event, as
// they do in the samples of the service, so that nobody comes to rely on them.
func newEvent(action string, now time.Time, fields ...field) event {
	id := newID()
	fields = append(fields, textField("action", action), textField("eventId", id), textField("eventTime", eventTime(now)))
	chance().Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return event{ID: id, Action: action, Body: encodeFields(fields)}
}

func encodeFields(fields []field) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(f.name)
		b.WriteString(`":`)
		b.Write(f.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// eventTime is an ISO 8601 UTC time stamp with one to seven digits of fraction.
func eventTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05." + strings.Repeat("0", 1+chance().IntN(7)) + "Z")
}

// packageEvents are events that speak of a package as a whole.
func packageEvents(p *pack, kinds []string, now time.Time) []event {
	var events []event
	for _, kind := range kinds {
		events = append(events, newEvent(kind, now,
			textField("packageId", p.PackageID),
			rawField("externalData", p.ExternalData),
			textField("eventOwnerOrganizationId", p.OrganizationID),
			textField("eventOwnerMemberId", p.MemberID)))
	}
	return events
}

// documentExecutedEvent has no owner ids (interface.md, payload fields).
func documentExecutedEvent(p *pack, d *document, now time.Time) event {
	return newEvent(actionDocumentExecuted, now,
		textField("packageId", p.PackageID),
		textField("documentId", d.DocumentID),
		rawField("externalId", d.ExternalID))
}

// signedEvent is for the n-th revision. nextSignerId is null when no signer follows; interface.md does not show it.
func signedEvent(p *pack, d *document, n int, now time.Time) event {
	next := rawField("nextSignerId", nil)
	if id := d.nextSigner(n); id != "" {
		next = textField("nextSignerId", id)
	}
	r := d.Revisions[n]
	return newEvent(actionSigned, now,
		textField("packageId", p.PackageID),
		textField("documentId", d.DocumentID),
		textField("revisionId", r.RevisionID),
		textField("signerId", r.SignerID),
		next,
		rawField("externalId", d.ExternalID),
		textField("eventOwnerOrganizationId", p.OrganizationID),
		textField("eventOwnerMemberId", p.MemberID))
}
