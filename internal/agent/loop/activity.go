package loop

import (
	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Activity returns the newest lines of the activity list, newest first.
func (t Base) Activity(limit int) ([]office.Activity, error) {
	return data.Read(t.Data, "the activity list", func(tx *store.Tx) ([]office.Activity, error) {
		list, _, err := tx.Activities("", limit)
		return list, err
	})
}

// TellUnusable says so in the activity list, once for each.
func (t Base) TellUnusable(id, packageID string, text message.Message) {
	line := office.Activity{Time: t.Now(), Kind: "problem", PackageID: packageID, Text: text}
	var first bool
	err := t.Data.Update(func(tx *store.Tx) (err error) {
		if first, err = tx.Once("unusable/" + id); err != nil || !first {
			return err
		}
		return tx.AddActivity(line)
	})
	if err != nil {
		t.Log.Error("record an id that cannot be used", "err", err)
	}
	if err == nil && first {
		t.Tell(line)
	}
}

// Record adds a line to the activity list.
func (t Base) Record(x office.Activity) {
	if x.Time.IsZero() {
		x.Time = t.Now()
	}
	if err := t.Data.Update(func(tx *store.Tx) error { return tx.AddActivity(x) }); err != nil {
		t.Log.Error("record an activity", "err", err)
	}
	t.Tell(x)
}

// Tell shows an activity that is already stored.
func (t Base) Tell(x office.Activity) {
	t.Show(x)
	t.Signal(office.ActivityChanged)
}
