package preview

import "os"

// peak is unknown on Windows once a process has ended.
func peak(*os.ProcessState) int64 { return 0 }
