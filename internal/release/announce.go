package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"countersign/internal/update"

	"aead.dev/minisign"
)

// announcement says how programs learn of a release. It comes from environment variables: UPDATE_URL is the address of the
// manifest, beside which the files will lie; UPDATE_KEYS are the public keys, one of which must sign it; UPDATE_PAGE is
// where people download the program by hand; UPDATE_DAYS is how long the manifest is valid. RELEASE_KEY is the file with the
// secret key, as made by minisign(1), and RELEASE_KEY_PASSWORD_FILE the file with its password.
type announcement struct {
	address, keys, page string
	days                int
	name                string               // of the manifest file
	secret              *minisign.PrivateKey // nil if there is none
}

// announced reads the announcement from the environment; it is zero if there is no address.
func announced() (a announcement, err error) {
	a = announcement{address: os.Getenv("UPDATE_URL"), keys: os.Getenv("UPDATE_KEYS"), page: os.Getenv("UPDATE_PAGE"), days: 180}
	file := os.Getenv("RELEASE_KEY")
	if a.address == "" {
		if file != "" {
			return a, errors.New("RELEASE_KEY signs the manifest for UPDATE_URL; set that, too")
		}
		return announcement{}, nil
	}
	source := update.ParseSource(a.address, a.keys)
	if _, err := update.New(source, nil); err != nil {
		return a, fmt.Errorf("UPDATE_URL and UPDATE_KEYS: %w", err)
	}
	a.address, a.keys = source.Address, strings.Join(source.Keys, ",")
	u, err := url.Parse(a.address)
	if err != nil {
		return a, err
	}
	a.name = path.Base(u.Path)
	if days := os.Getenv("UPDATE_DAYS"); days != "" {
		if a.days, err = strconv.Atoi(days); err != nil || a.days < 1 {
			return a, errors.New("UPDATE_DAYS is a number of days")
		}
	}
	if file == "" {
		return a, nil
	}
	return a, a.unlock(file, source.Keys)
}

// unlock reads the secret key. Its public key must be among keys: otherwise nobody would accept the manifest.
func (a *announcement) unlock(file string, keys []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("RELEASE_KEY: %w", err)
	}
	var secret minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		password, err := passwordOf("RELEASE_KEY")
		if err != nil {
			return err
		}
		if secret, err = minisign.DecryptKey(string(password), text); err != nil {
			return fmt.Errorf("RELEASE_KEY: %w", err)
		}
	} else if err := secret.UnmarshalText(text); err != nil {
		return fmt.Errorf("RELEASE_KEY: %w", err)
	}
	for _, k := range keys {
		var public minisign.PublicKey
		if public.UnmarshalText([]byte(k)) == nil && public.Equal(secret.Public()) {
			a.secret = &secret
			return nil
		}
	}
	return errors.New("the public key of RELEASE_KEY is not among UPDATE_KEYS: nobody would believe what it signs")
}

// passwordOf is the password of a key, from the file that the variable KEY_PASSWORD_FILE names.
func passwordOf(key string) ([]byte, error) {
	variable := key + "_PASSWORD_FILE"
	password, err := os.ReadFile(os.Getenv(variable))
	if err != nil {
		return nil, fmt.Errorf("%s has a password; %s names the file that holds it", key, variable)
	}
	return bytes.TrimRight(password, "\r\n"), nil
}

// ldflags build the announcement into a program.
func (a announcement) ldflags() string {
	if a.address == "" {
		return ""
	}
	return fmt.Sprintf(" -X 'main.updates=%s' -X 'main.updateKeys=%s'", a.address, a.keys)
}

// publish writes the manifest of a version, with those files in dir that programs update themselves with, and its signature;
// or it explains why programs will not learn of the release.
func (a announcement) publish(dir, version string, files []update.File) error {
	switch {
	case a.address == "":
		say("There is no UPDATE_URL: programs of this release do not look for newer ones.")
		return nil
	case a.secret == nil:
		say("There is no RELEASE_KEY: no manifest was made, and programs do not hear of this release.")
		return nil
	}
	for i, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil {
			return err
		}
		files[i].Size, files[i].SHA256 = int64(len(content)), fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return a.sign(dir, update.Manifest{Product: update.Product, Version: version, Page: a.page, Files: files})
}

// sign writes a manifest that is valid from now on, and its signature.
func (a announcement) sign(dir string, m update.Manifest) error {
	m.Signed = time.Now().UTC().Truncate(time.Second)
	m.Expires = m.Signed.Add(time.Duration(a.days) * 24 * time.Hour)
	if err := m.Check(); err != nil {
		return fmt.Errorf("the manifest would be refused: %w", err)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	file := filepath.Join(dir, a.name)
	comment := "countersign " + m.Version
	err = errors.Join(write(file, text), write(file+".minisig", minisign.SignWithComments(*a.secret, text, comment, "signature of "+a.name)))
	if err == nil {
		fmt.Printf("%s announces %s until %s. Put it and %s.minisig at %s, after the files beside them.\n",
			a.name, m.Version, m.Expires.Format(time.DateOnly), a.name, a.address)
	}
	return err
}

// renew signs the manifest of the last release, in dir, again before it expires.
func renew(dir string) error {
	a, err := announced()
	if err != nil {
		return err
	}
	if a.secret == nil {
		return errors.New("it takes UPDATE_URL, UPDATE_KEYS and RELEASE_KEY to sign the manifest anew")
	}
	text, err := os.ReadFile(filepath.Join(dir, a.name))
	if err != nil {
		return err
	}
	var m update.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := update.Verify(filepath.Join(dir, f.Name), f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if a.page != "" {
		m.Page = a.page
	}
	return a.sign(dir, m)
}
