package officetest

import (
	"fmt"
	"image"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Now is the time of all scenes: a Saturday afternoon in an office one hour east of UTC.
var Now = time.Date(2026, 11, 21, 14, 2, 0, 0, time.FixedZone("office", 3600))

func signer(id, first, last string) office.Signer {
	return office.Signer{ID: id, FirstName: first, LastName: last, Email: id + "@example.com"}
}

var (
	jan  = signer("jan.weber", "Jan", "Weber")
	ana  = signer("ana.ruiz", "Ana", "Ruiz")
	bea  = signer("bjorn", "Björn", "Åkesson")
	nova = signer("novak", "Irena", "Novák")
	tom  = signer("keller", "Thomas", "Keller")
)

// inFolder returns a saved file.
func inFolder(kind office.FileKind, documentID, name string) office.File {
	return office.File{Path: filepath.FromSlash("/home/office/Documents/Signed/" + name), Kind: kind, DocumentID: documentID, State: office.JobDone,
		Seal: office.Seal{State: office.SealIntact, Signer: "signum.example", Issuer: "Signum CA", At: Now.Add(-20 * time.Minute), Stamped: "Signum TSA"}}
}

// waitsFor returns files of which the last is not saved yet.
func waitsFor(files []office.File) []office.File {
	files = slices.Clone(files)
	files[len(files)-1].State = office.JobPending
	return files
}

// Empty is an office on its first day: nobody signed in, nothing sent.
func Empty() *Office {
	return &Office{State: agent.Status{Version: "0.1.0", Tunnel: agent.TunnelStatus{Kind: "ngrok", State: "off"}}, settings: settings{Kept: Settings()}}
}

// Settings returns complete settings.
func Settings() office.Settings {
	return office.Settings{
		ServiceSettings: office.ServiceSettings{AuthURL: "https://sandbox.example.com", BaseURL: "https://sandbox.example.com/api/v1",
			ClientID: "countersign-office", Scopes: []string{"openid", "profile", "offline_access", "organization"}, SignatureHeader: "X-Service-Signature"},
		Redirect:       office.RedirectTunnel,
		TunnelSettings: office.TunnelSettings{Tunnel: office.TunnelNgrok, NgrokDomain: "office.ngrok.app"},
		SaveSettings:   office.SaveSettings{SaveTo: filepath.FromSlash("/home/office/Documents/Signed"), NameTemplate: "{package} - {document}"},
	}
}

// Busy is an ordinary day: some packages wait, some are back, one is being saved.
func Busy() *Office {
	o := Empty()
	o.State.SignedIn = true
	o.State.Account = agent.Account{Email: "office@weber-partner.example", OrganizationID: "5b1e"}
	o.State.Tunnel = agent.TunnelStatus{Kind: "ngrok", State: "up", URL: "https://office.ngrok.app"}
	o.State.Packages = agent.PackageCounts{Total: 5, Open: 2, Executed: 2, Saved: 1}
	o.State.Saves = agent.JobCounts{Done: 3, Pending: 1}
	o.Secret = office.Secrets{ClientSecret: "x"}
	lease := office.PackageRow{Package: office.Package{ID: "p1", Name: "Lease Sonnenweg 4", State: "open", Sequential: true,
		Created: Now.Add(-75 * time.Hour), Due: Now.AddDate(0, 0, 9), Signers: []office.Signer{jan, ana, bea},
		Documents: []office.Document{{ID: "d1", Name: "Lease Sonnenweg 4", SignedBy: []string{jan.ID}}, {ID: "d2", Name: "House rules", SignedBy: []string{jan.ID}}},
		History: []office.HistoryEntry{{Time: office.When{Time: Now.Add(-75 * time.Hour)}, What: "sent"}, {Time: office.When{Time: Now.Add(-28 * time.Hour)}, What: "signed", Who: jan.ID, Ref: "d1"},
			{Time: office.When{Time: Now.Add(-28 * time.Hour)}, What: "signed", Who: jan.ID, Ref: "d2"}},
		Signing: office.Signing{SignersDone: 1, SignersTotal: 3}}}
	offer := office.PackageRow{Package: office.Package{ID: "p2", Name: "Offer 2026-118", State: "open", Created: Now.Add(-time.Hour),
		Signers: []office.Signer{tom, nova}, Documents: []office.Document{{ID: "d3", Name: "Offer 2026-118"}},
		Signing: office.Signing{SignersTotal: 2}}}
	mandate := office.PackageRow{Package: office.Package{ID: "p3", Name: "Mandate Keller", State: "executed", Created: Now.Add(-49 * time.Hour), Executed: office.When{Time: Now.Add(-20 * time.Minute)},
		Signers: []office.Signer{nova, tom}, Documents: []office.Document{{ID: "d4", Name: "Letter of mandate", Executed: true, SignedBy: []string{nova.ID, tom.ID}}},
		History: []office.HistoryEntry{{Time: office.When{Time: Now.Add(-49 * time.Hour)}, What: "sent"}, {Time: office.When{Time: Now.Add(-30 * time.Hour)}, What: "signed", Who: nova.ID, Ref: "d4"},
			{Time: office.When{Time: Now.Add(-20 * time.Minute)}, What: "signed", Who: tom.ID, Ref: "d4"}, {Time: office.When{Time: Now.Add(-20 * time.Minute)}, What: "executed"},
			{Time: office.When{Time: Now.Add(-19 * time.Minute)}, What: "saved", Ref: "Mandate Keller - Letter of mandate.pdf"}},
		Signing: office.Signing{SignersDone: 2, SignersTotal: 2}, Saving: office.Saving{Sealed: true}}, FilesDone: 2, FilesTotal: 2,
		Files: []office.File{inFolder(office.FileSigned, "d4", "Mandate Keller - Letter of mandate.pdf"), inFolder(office.FileCertificate, "d4", "Mandate Keller - certificate.pdf")}}
	saving := mandate
	saving.ID, saving.Name, saving.FilesDone, saving.Saved = "p4", "Annual accounts 2025", 1, false
	saving.Files = waitsFor(mandate.Files)
	withdrawn := office.PackageRow{Package: office.Package{ID: "p5", Name: "Old offer", State: "rescinded", Created: Now.Add(-400 * 24 * time.Hour),
		Signers: []office.Signer{tom}, Signing: office.Signing{SignersTotal: 1}}}
	o.Rows = []office.PackageRow{offer, mandate, lease, saving, withdrawn}
	o.Happened = []office.Activity{
		{Time: Now.Add(-19 * time.Minute), Kind: office.ActivitySaved, PackageID: "p3", Text: message.Then(message.EveryoneSigned("Mandate Keller"), message.FilesSaved(2, "Signed"))},
		{Time: Now.Add(-20 * time.Minute), Kind: office.ActivityEvent, PackageID: "p3", Text: message.Signed("Thomas Keller", "Mandate Keller")},
		{Time: Now.Add(-time.Hour), Kind: office.ActivitySent, PackageID: "p2", Text: message.SentTo("Offer 2026-118", 2)},
		{Time: Now.Add(-5 * time.Hour), Kind: office.ActivityProblem, Text: message.Then(message.NotSent("Letter"), message.ServiceSilent())},
		{Time: Now.Add(-28 * time.Hour), Kind: office.ActivityEvent, PackageID: "p1", Text: message.Then(message.Signed("Jan Weber", "Lease Sonnenweg 4"), message.NextSigner("Ana Ruiz"))},
		{Time: Now.Add(-76 * time.Hour), Kind: office.ActivitySignedIn, Text: message.SignedInAs("office@weber-partner.example")},
	}
	signed := filepath.FromSlash("/home/office/Documents/Signed")
	o.Files = []office.Job{{PackageID: "p3", Folder: signed, Target: "Mandate Keller - Letter of mandate.pdf"},
		{PackageID: "p3", Folder: signed, Target: "Mandate Keller - certificate.pdf"}}
	o.Origins = map[string]office.Draft{"p1": {ID: "sent-p1", Name: lease.Name, Sequential: true, Signers: lease.Signers, Message: "As discussed.",
		Files: []office.DraftFile{{Path: filepath.FromSlash("/home/office/Documents/Lease Sonnenweg 4.pdf"), Name: "Lease Sonnenweg 4.pdf"}}}}
	o.Pictures = map[string]image.Image{"Lease Sonnenweg 4.pdf": Page(), "Mandate Keller - Letter of mandate.pdf": Page(), "Mandate Keller - certificate.pdf": Page()}
	o.Arrived = arrived()
	o.State.Events = agent.EventCounts{Received: len(o.Arrived), Rejected: 43, Pending: 1, Problems: 1}
	return o
}

// Wrong is a bad day: an expired sign-in, a full disk, an expired package.
func Wrong() *Office {
	o := Busy()
	o.State.SignedIn, o.State.Account = false, agent.Account{}
	o.State.Health = []agent.Issue{
		{ID: "signin", Severity: agent.Problem, Since: Now.Add(-26 * time.Minute), Message: message.SignInLapsed(), Action: agent.ActSignIn},
		{ID: "tunnel", Severity: agent.Warning, Since: Now.Add(-time.Hour), Message: message.Then(message.NoConnection(), message.TryingAgain()), Action: agent.ActRetry},
	}
	full := o.Rows[1]
	full.Saved = false
	full.Problem, full.FilesDone, full.Files = message.WaitForRoom("Signed", 1), 1, waitsFor(full.Files)
	expired := o.Rows[0]
	expired.State = "expired"
	o.Rows = []office.PackageRow{full, expired, o.Rows[2]}
	o.Waiting = []office.Draft{{ID: "x", Name: "Offer 2026-119", State: office.DraftUnknown, Created: Now.Add(-2 * time.Hour), Signers: []office.Signer{tom},
		Files: []office.DraftFile{{Name: "Offer 2026-119.pdf", Path: filepath.FromSlash("/home/office/Documents/Offer 2026-119.pdf")}}},
		{ID: "y", Name: "Letter", State: office.DraftFailed, Created: Now.Add(-5 * time.Hour), Signers: []office.Signer{ana},
			Delivery: office.Delivery{Problem: message.FileProtected("Offer.pdf")}}}
	return o
}

// World is an office with long names, many signers and several scripts.
func World() *Office {
	o := Busy()
	long := o.Rows[2]
	long.ID, long.Name = "w1", "Μισθωτήριο κατοικίας – Договор аренды квартиры – Hợp đồng thuê nhà – a name that does not end where the column ends"
	long.Signers = []office.Signer{signer("e.papadopoulou", "Ελένη", "Παπαδοπούλου"), signer("n", "Наталья", "Александровна-Преображенская"),
		signer("nguyen", "Nguyễn", "Thị Minh Khai"), signer("o", "Ólöf", "Þórðardóttir"),
		{ID: "very", Email: "a.very.long.address.that.never.seems.to.end@subdomain.of.a.long.company.example.com"}}
	long.NextSigners, long.SignersTotal, long.SignersDone = []string{"n", "nguyen", "o", "very"}, 5, 1
	many := o.Rows[0]
	many.ID, many.Name, many.SignersTotal, many.SignersDone = "w2", "Resolution of the owners", 12, 7
	many.NextSigners = []string{tom.ID, nova.ID}
	for i := range 12 {
		many.Signers = append(many.Signers, signer(fmt.Sprintf("owner%d", i), "Owner", fmt.Sprint(i)))
	}
	nameless := office.PackageRow{Package: office.Package{ID: "w3", State: "open", Origin: office.MadeElsewhere, Created: Now.Add(-time.Minute)}}
	o.Rows = append([]office.PackageRow{long, many, nameless}, o.Rows...)
	o.State.Account.Email = "a.very.long.account.name@subdomain.of.a.long.company.example.com"
	return o
}

// arrived returns the ordinary day's events, newest first.
func arrived() []office.Event {
	at := func(id, action, packageID, more string, back time.Duration, outcome office.Outcome) office.Event {
		when := Now.Add(-back)
		body := fmt.Sprintf(`{"action":%q,"packageId":%q,%s"eventId":%q,"eventTime":%q}`, action, packageID, more, id, when.UTC().Format(time.RFC3339Nano))
		e := office.Event{ID: id, Action: action, PackageID: packageID, Time: when, Received: when.Add(900 * time.Millisecond), Body: []byte(body),
			URL: "https://office.ngrok.app/events/4f1c", Outcome: outcome}
		if outcome == office.EventHandled {
			e.Handled = e.Received.Add(time.Second)
		}
		return e
	}
	odd := office.Event{ID: "sha256:9f86d081884c7d65", Received: Now.Add(-50 * time.Hour), Body: []byte("{\"action\": \"pack"), URL: "https://office.ngrok.app/events/4f1c",
		Outcome: office.EventUnprocessable, Reason: message.EventUnreadable(), Handled: Now.Add(-50 * time.Hour)}
	again := at("e-3", "document_signed", "p3", `"documentId":"d4","signerId":"keller",`, 20*time.Minute, office.EventHandled)
	again.Copies = 2
	return []office.Event{
		at("e-5", "package_executed", "p3", `"externalData":null,`, 20*time.Minute, ""),
		at("e-4", "document_executed", "p3", `"documentId":"d4",`, 20*time.Minute, office.EventHandled), again,
		at("e-2", "document_signed", "p1", `"documentId":"d2","signerId":"jan.weber","nextSignerId":"ana.ruiz",`, 28*time.Hour, office.EventHandled),
		at("e-1", "document_signed", "p1", `"documentId":"d1","signerId":"jan.weber",`, 28*time.Hour, office.EventHandled), odd}
}

// Templates returns those of an ordinary office.
func Templates() []office.Template {
	return []office.Template{
		{ID: "t-lease", Name: "Lease agreement", Description: "A flat, with the house rules", Message: "Read both, then sign.", Sequential: true,
			Documents: []office.TemplateDocument{
				{ID: "d-1", Name: "Lease agreement", Fields: []office.TemplateField{{ID: "address", Name: "Address of the flat"},
					{ID: "rent", Name: "Monthly rent", Value: "900"}, {ID: "special", Name: "Special agreements", Multiline: true}}},
				{ID: "d-2", Name: "House rules"}},
			Roles:  []office.TemplateRole{{ID: "s-1", Role: "Landlord"}, {ID: "s-2", Role: "Tenant"}},
			Copies: []office.TemplateRole{{ID: "r-1", Role: "Records", FirstName: "Rita", LastName: "Records", Email: "records@example.com"}}},
		{ID: "t-mandate", Name: "Engagement letter", Description: "For new clients",
			Documents: []office.TemplateDocument{{ID: "d-3", Name: "Engagement letter"}},
			Roles: []office.TemplateRole{{ID: "s-3", Role: "Client"},
				{ID: "s-4", Role: "Lawyer", FirstName: "Laura", LastName: "Lawyer", Email: "laura@example.com"}}},
		{ID: "t-nda", Name: "Non-disclosure agreement", Documents: []office.TemplateDocument{},
			Roles: []office.TemplateRole{{ID: "s-5", Role: "Party"}, {ID: "s-6", Role: "Party"}}},
	}
}
