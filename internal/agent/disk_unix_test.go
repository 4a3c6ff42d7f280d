//go:build unix

package agent

import "syscall"

const errNoRoom = syscall.ENOSPC
