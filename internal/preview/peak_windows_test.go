package preview

import "os"

// peak is not told by Windows once a process has ended.
func peak(*os.ProcessState) int64 { return 0 }
