package update

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"
)

// Product is what a manifest is for. A key that signs other things, too, signs none of them into this program.
const Product = "countersign"

// Manifest says which version is the newest, and what its files are. Its JSON lies at the address of a Source.
type Manifest struct {
	Product string    `json:"product"`
	Version string    `json:"version"` // as semver.org has it, without a v: "1.2.0", "1.3.0-rc.1"
	Signed  time.Time `json:"signed"`
	Expires time.Time `json:"expires"`        // from then on it is not believed: it could be kept back from newer ones
	Page    string    `json:"page,omitempty"` // an https address where people get the program by hand
	Files   []File    `json:"files"`
}

// File is one of the files of a release. There may be systems, processors and kinds that this version does not know.
type File struct {
	System string `json:"system"` // as GOOS
	Arch   string `json:"arch"`   // as GOARCH
	Kind   string `json:"kind"`
	Name   string `json:"name"` // beside the manifest
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hexadecimal digits
}

// Kinds of files.
const (
	Installer = "installer" // for Windows
	Deb       = "deb"
	RPM       = "rpm"
	Tar       = "tar"
	Server    = "server" // the program without its window, one file
)

// File is the file of that kind, when there is one.
func (m Manifest) File(system, arch, kind string) (f File, known bool) {
	for _, f := range m.Files {
		if f.System == system && f.Arch == arch && f.Kind == kind {
			return f, true
		}
	}
	return File{}, false
}

// Bounds of what a manifest says.
const (
	maxFiles   = 100
	maxFile    = 1 << 30
	maxPage    = 500
	maxWord    = 40
	maxForward = 800 * 24 * time.Hour // from its signature to its expiry
)

// fileName is a name that is nothing but a name, on any system and in any address.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]{0,120}[A-Za-z0-9]$`)

// parse reads a manifest that is signed. What it does not know it leaves alone; what can only be a mistake is an error.
func parse(text []byte) (m Manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, err
	}
	return m, m.Check()
}

// Check says what a manifest must not say, whoever signs it.
func (m Manifest) Check() error {
	switch {
	case m.Product != Product:
		return fmt.Errorf("it is for %q", m.Product)
	case !IsVersion(m.Version):
		return fmt.Errorf("%q is no version", m.Version)
	case m.Signed.IsZero(), !m.Expires.After(m.Signed), m.Expires.Sub(m.Signed) > maxForward:
		return errors.New("it has no time in which it counts")
	case m.Page != "" && !isPage(m.Page):
		return errors.New("its page is no https address")
	case len(m.Files) > maxFiles:
		return errors.New("it has too many files")
	}
	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)
		switch {
		case f.System == "" || len(f.System) > maxWord, f.Arch == "" || len(f.Arch) > maxWord, f.Kind == "" || len(f.Kind) > maxWord:
			return errors.New("a file is for no system")
		case !fileName.MatchString(f.Name):
			return fmt.Errorf("%q is no name of a file", f.Name)
		case f.Size <= 0 || f.Size > maxFile:
			return fmt.Errorf("%s cannot have %d bytes", f.Name, f.Size)
		case err != nil || len(sum) != 32:
			return fmt.Errorf("%s has no SHA-256", f.Name)
		}
	}
	return nil
}

func isPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && len(address) <= maxPage
}
