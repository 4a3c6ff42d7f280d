package office

import (
	"time"

	"countersign/internal/message"
)

// Update is what is known of newer versions of the program.
type Update struct {
	Version string    // that runs
	Offered bool      // newer versions can be asked for: the program was built with an address for that
	Newest  string    // the newest version known; empty while none was heard of
	Newer   bool      // it comes after the one that runs
	Checked time.Time // when that was last heard; zero for never

	Todo     message.Message // what a person does to get it
	Address  string          // of the file, or of a page where people get it by hand; empty where none is known
	Offers   bool            // InstallUpdate fetches and checks the file
	OneClick bool            // and installs it
	Path     string          // of the file that was fetched and checked, for a person to install; empty before

	// Trouble is what a person should know quietly: nothing valid was heard for long, or the last installation failed.
	Trouble message.Message
	File    UpdateFile // for this computer; zero where there is none
}

// UpdateFile is a file of a release.
type UpdateFile struct {
	Name    string
	Address string
	Size    int64
	SHA256  string // in hexadecimal digits
}

// UpdateStep is how far an installation is.
type UpdateStep struct {
	Got, Total int64 // bytes; both zero before the download
	Waits      bool  // until what is being sent and saved is done
}

// UpdateSubject is a newer version, as what a notification is about.
const UpdateSubject Subject = "update"
