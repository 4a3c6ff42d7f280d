package hotfolder

import "errors"

func pipe(string) error { return errors.ErrUnsupported }
