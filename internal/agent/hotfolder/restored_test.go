package hotfolder

import (
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestAFileOfAfterTheRestoringIsSentThoughTheClockWasWrongThen(t *testing.T) {
	d := newDesk(t)
	now := d.Now()
	held := func(made, now time.Time) bool {
		draft := office.Draft{State: office.DraftQueued}
		noErr(t, d.Data.Update(func(tx *store.Tx) error { return holdOld(tx, &draft, made, "offer.pdf", now) }))
		return draft.State == office.DraftHeld
	}
	noErr(t, d.Data.Update(func(tx *store.Tx) error { return data.MarkRestored(tx, now.Add(365*24*time.Hour)) }))
	if !held(now.Add(-time.Hour), now) {
		t.Error("a file of before was sent")
	}
	if held(now.Add(time.Hour), now.Add(2*time.Hour)) {
		t.Error("a file of after was held")
	}
}
