//go:build unix

package locations

import "syscall"

const otherDisk = syscall.EXDEV
