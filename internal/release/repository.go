package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
)

// packageKey is the key that signs packages for Linux and their repository: the secret OpenPGP key in the file named by
// PACKAGE_KEY, unlocked by the password in PACKAGE_KEY_PASSWORD_FILE. It is nil if there is none.
func packageKey() (*openpgp.Entity, error) {
	file := os.Getenv("PACKAGE_KEY")
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("PACKAGE_KEY: %w", err)
	}
	defer f.Close()
	ring, err := openpgp.ReadArmoredKeyRing(f)
	if err != nil || len(ring) != 1 || ring[0].PrivateKey == nil {
		return nil, errors.Join(errors.New("PACKAGE_KEY is no file with one secret key, as gpg --armor --export-secret-keys writes it"), err)
	}
	if !ring[0].PrivateKey.Encrypted {
		return ring[0], nil
	}
	password, err := passwordOf("PACKAGE_KEY")
	if err != nil {
		return nil, err
	}
	if err := ring[0].DecryptPrivateKeys(password); err != nil {
		return nil, fmt.Errorf("PACKAGE_KEY: %w", err)
	}
	return ring[0], nil
}

// signature is a package's embedded signature.
func (p product) signature(content io.Reader) ([]byte, error) {
	var b bytes.Buffer
	err := openpgp.DetachSign(&b, p.key, content, nil)
	return b.Bytes(), err
}

// repository turns p.out into a repository for apt and dnf, too: signed lists of the packages in it, and the public key. The
// lists refer to the files beside them, so the folder works wherever it is put, as long as it stays together.
func (p product) repository(ctx context.Context) error {
	if p.key == nil {
		say("There is no PACKAGE_KEY: packages for Linux are not signed, and apt and dnf get no repository.")
		return nil
	}
	packages, err := output(ctx, p.out, nil, "apt-ftparchive", "packages", ".")
	if err != nil {
		return err
	}
	if err := write(filepath.Join(p.out, "Packages"), []byte(packages+"\n")); err != nil {
		return err
	}
	release, err := output(ctx, p.out, nil, "apt-ftparchive", "-o", "APT::FTPArchive::Release::Origin=Countersign",
		"-o", "APT::FTPArchive::Release::Label=Countersign", "release", ".")
	if err != nil {
		return err
	}
	var signed, signature, public bytes.Buffer
	w, err := clearsign.Encode(&signed, p.key.PrivateKey, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, strings.NewReader(release+"\n"))
	if err := errors.Join(err, w.Close(), write(filepath.Join(p.out, "InRelease"), signed.Bytes())); err != nil {
		return err
	}
	if err := run(ctx, p.out, nil, "createrepo_c", "--quiet", "--no-database", "."); err != nil {
		return err
	}
	index := filepath.Join(p.out, "repodata", "repomd.xml")
	text, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	if err := openpgp.ArmoredDetachSign(&signature, p.key, bytes.NewReader(text), nil); err != nil {
		return err
	}
	a, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	if err != nil {
		return err
	}
	return errors.Join(p.key.Serialize(a), a.Close(), write(index+".asc", signature.Bytes()), write(filepath.Join(p.out, "countersign.asc"), public.Bytes()))
}
