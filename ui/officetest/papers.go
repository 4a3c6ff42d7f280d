package officetest

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

// Page is a picture of a page of text: grey lines on white, in the proportions of A4.
func Page() image.Image {
	page := image.NewRGBA(image.Rect(0, 0, 210, 297))
	draw.Draw(page, page.Bounds(), image.White, image.Point{}, draw.Src)
	ink := image.NewUniform(color.Gray{0x99})
	for y := 30; y < 260; y += 9 {
		width := 150 - y*7%60
		if y < 40 {
			ink = image.NewUniform(color.Gray{0x44})
			width = 90
		}
		draw.Draw(page, image.Rect(30, y, 30+width, y+3), ink, image.Point{}, draw.Src)
		ink = image.NewUniform(color.Gray{0x99})
	}
	return page
}

// arrived are the events of the ordinary day, newest first.
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
		Outcome: office.EventOdd, Reason: message.EventUnreadable(), Handled: Now.Add(-50 * time.Hour)}
	again := at("e-3", "document_signed", "p3", `"documentId":"d4","signerId":"keller",`, 20*time.Minute, office.EventHandled)
	again.Copies = 2
	return []office.Event{
		at("e-5", "package_executed", "p3", `"externalData":null,`, 20*time.Minute, ""),
		at("e-4", "document_executed", "p3", `"documentId":"d4",`, 20*time.Minute, office.EventHandled), again,
		at("e-2", "document_signed", "p1", `"documentId":"d2","signerId":"jan.weber","nextSignerId":"ana.ruiz",`, 28*time.Hour, office.EventHandled),
		at("e-1", "document_signed", "p1", `"documentId":"d1","signerId":"jan.weber",`, 28*time.Hour, office.EventHandled), odd}
}
