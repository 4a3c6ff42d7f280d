package locations

import "golang.org/x/sys/windows"

const otherDisk = windows.ERROR_NOT_SAME_DEVICE
