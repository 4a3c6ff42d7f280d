package sim

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"countersign/internal/sandbox"
)

// document is a PDF that differs from every other one.
func document(sent, part int) []byte {
	var b bytes.Buffer
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(at)}, args...)...)
	}
	fmt.Fprintf(&b, "%%PDF-1.4\n%% contract %d part %d\n", sent, part)
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
	object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<>>>>")
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

// madeIn is where made has made its folders, for TestMain to remove.
var madeIn string

// made are folders of services that have a key already: making one takes longer than a simulated week. It is a short one, with
// which the thousands of tokens of a life are signed in a sixth of the time.
var made = sync.OnceValues(func() (string, error) {
	base, err := os.MkdirTemp("", "countersign-sim-keys-")
	if err != nil {
		return "", err
	}
	madeIn = base
	for i := range 2 {
		dir := filepath.Join(base, fmt.Sprint(i))
		s, err := sandbox.Start(sandbox.Options{Dir: dir, KeyBits: 1024})
		if err != nil {
			return "", err
		}
		// The first who asks for the key has it made.
		answer, err := http.Get(s.URL() + "/.well-known/jwks")
		if err != nil {
			return "", err
		}
		answer.Body.Close()
		if err := s.Close(); err != nil {
			return "", err
		}
	}
	return base, nil
})

// copyKey begins the folder of the nth service with a key.
func copyKey(dir string, n int) error {
	base, err := made()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return copyFile(filepath.Join(base, fmt.Sprint(n), "sandbox.db"), filepath.Join(dir, "sandbox.db"))
}
