//go:build !linux

package sim

import "time"

// A process can only have its own disks on Linux; elsewhere the disk is never full.
func ownSpace() (code int, ok bool)    { return 0, false }
func mount(dir string) bool            { return false }
func unmount(dir string)               {}
func fill(dir string, full bool) error { return nil }

var started = time.Now()

// spent is the age of this process, because its processor time is not available.
func spent() time.Duration { return time.Since(started) }
