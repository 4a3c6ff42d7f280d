package transfer

import "os"

func openPlain(path string) (*os.File, error) { return os.Open(path) }
