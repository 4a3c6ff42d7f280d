package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/esign"
	"countersign/internal/sandbox"
)

// colleague makes n packages with another program of the organization, lets everybody sign them, and returns their ids.
func (o *testOffice) colleague(t *testing.T, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, o.foreign(fmt.Sprintf("Elsewhere %d", i+1)))
	}
	for _, id := range ids {
		noErr(t, o.service.SignAll(id))
	}
	return ids
}

// foreign makes a package that this office's store knows nothing of.
func (o *testOffice) foreign(name string) (packageID string) {
	o.t.Helper()
	client, online := o.account.Online()
	if !online {
		o.t.Fatal("nobody is signed in")
	}
	return o.foreignBy(client, o.sample(), name)
}

// foreignBy makes it with a client that need not be the office's.
func (o *testOffice) foreignBy(client *esign.Client, path, name string) (packageID string) {
	o.t.Helper()
	file, err := client.Upload(o.t.Context(), uploadOf(path))
	noErr(o.t, err)
	added, err := client.AddPackage(o.t.Context(), esign.NewPackage{
		Name: name, Sequential: true,
		Signers:   []esign.NewSigner{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}},
		Documents: []esign.NewDocument{{FileID: file.ID, FileName: "Contract.pdf", Name: "Contract"}},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return added.PackageID
}

// calls counts the requests the service got for a route.
func calls(s *sandbox.Server, route string) int {
	_, counts := s.Requests()
	return counts[route]
}

func uploadOf(path string) esign.Upload {
	info, err := os.Stat(path)
	if err != nil {
		panic(err)
	}
	return esign.Upload{
		FileName: filepath.Base(path), Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}
}
