package loop

import (
	"time"

	"countersign/internal/esign"
	"countersign/internal/office"
)

// The service can give an id under which it cannot be asked (esign.UsableID). What has such an id is set aside by itself:
// people are told once, and may look for it where the service shows it.

// UnusablePause is how long it is left alone; asking would not even reach the service.
const UnusablePause = 24 * time.Hour

// Unusable reports whether the service cannot be asked for j's file.
func Unusable(j office.Job) bool { return j.DocumentID != "" && !esign.UsableID(j.DocumentID) }
