//go:build !linux

package sim

import "time"

var started = time.Now()

// spent is the age of this process, because its processor time is not available.
func spent() time.Duration { return time.Since(started) }
