package archive

import "os"

// beginFlush has no like here; the flush at the end does it all.
func beginFlush(*os.File, int64, int64) {}
