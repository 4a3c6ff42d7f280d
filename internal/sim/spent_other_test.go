//go:build !linux

package sim

import "time"

var started = time.Now()

// spent is how long this process has lived, for want of its processor time.
func spent() time.Duration { return time.Since(started) }
