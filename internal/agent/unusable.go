package agent

import (
	"time"

	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// The service can give an id under which it cannot be asked (esign.UsableID). What has such an id is set aside by itself:
// people are told once, and may look for it where the service shows it.

// unusablePause is how long it is left alone; asking would not even reach the service.
const unusablePause = 24 * time.Hour

// onItsPages is what there is to do about it.
const onItsPages = " Look for it on the signing service's website."

// unusable reports whether the service cannot be asked for j's file.
func unusable(j office.Job) bool { return j.DocumentID != "" && !esign.UsableID(j.DocumentID) }

// tellUnusable says so in the activity list, once for each.
func (a *Agent) tellUnusable(id, packageID, text string) {
	line := office.Activity{Time: a.now(), Kind: "problem", PackageID: packageID, Text: text}
	var first bool
	err := a.st.Update(func(tx *store.Tx) (err error) {
		if first, err = tx.Once("unusable/" + id); err != nil || !first {
			return err
		}
		return addActivity(tx, line)
	})
	if err != nil {
		a.log.Error("record an id that cannot be used", "err", err)
	}
	if err == nil && first {
		a.tell(line)
	}
}
