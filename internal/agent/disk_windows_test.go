package agent

import "golang.org/x/sys/windows"

const errNoRoom = windows.ERROR_DISK_FULL
