package office

import "countersign/internal/message"

// Exported is what became of the saved files of packages that were to be copied into a folder.
type Exported struct {
	Packages int             // that have saved files
	Files    int             // these are
	Copied   int             // of them are in the folder, also those that were there already
	Lost     int             // are no longer where they were saved
	Problem  message.Message // what kept the others from being copied
}
