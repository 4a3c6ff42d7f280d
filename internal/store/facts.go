package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
)

// Once records that something was done which must not be done twice, such as one notification, and reports whether
// this is the first time. Record it before doing it: then a crash loses one notification rather than repeating all.
func (tx *Tx) Once(fact string) (first bool, err error) {
	id, err := idKey(fact)
	if err != nil {
		return false, fmt.Errorf("record fact: %w", err)
	}
	key := factKey(id)
	have, err := tx.get(bucketOnce, key)
	if err != nil || have != nil {
		return false, err
	}
	return true, tx.put(bucketOnce, key, noted)
}

// Told reports whether Once has recorded a fact. It writes nothing.
func (tx *Tx) Told(fact string) bool {
	id, err := idKey(fact)
	if err != nil {
		return false
	}
	have, err := tx.get(bucketOnce, factKey(id))
	return err == nil && have != nil
}

// noted is the value of a fact: there is nothing to say but that it is there.
var noted = []byte{1}

// factKey is a fact in sixteen bytes: facts are kept for ever, so that nobody is told of anything twice.
func factKey(fact []byte) []byte {
	sum := sha256.Sum256(fact)
	return sum[:factLength]
}

const factLength = 16 // bytes

// Sealed returns the sealed bytes kept under name, and whether there are any.
func (tx *Tx) Sealed(name string) ([]byte, bool) {
	key, err := idKey(name)
	if err != nil {
		return nil, false // nothing is ever kept under no name
	}
	value, err := tx.get(bucketSealed, key)
	return bytes.Clone(value), err == nil && value != nil
}

// SealedNames returns the names of all sealed values.
func (tx *Tx) SealedNames() (names []string) {
	err := tx.oldest(bucketSealed, nil, func(key, _ []byte) (bool, error) {
		names = append(names, string(key))
		return true, nil
	})
	if err != nil {
		return nil
	}
	return names
}

// PutSealed keeps sealed bytes under name; nil deletes them. The store cannot tell whether they are really sealed.
func (tx *Tx) PutSealed(name string, value []byte) error {
	key, err := idKey(name)
	if err != nil {
		return fmt.Errorf("keep sealed value: %w", err)
	}
	if value == nil {
		return tx.del(bucketSealed, key)
	}
	return tx.put(bucketSealed, key, bytes.Clone(value))
}

// GetDoc decodes the document kept under name into v (a pointer) and reports whether there is one. One that cannot be read
// is as good as none: it is noted, v stays as it was, and the next PutDoc replaces it.
func (tx *Tx) GetDoc(name string, v any) (bool, error) {
	key, err := idKey(name)
	if err != nil {
		return false, fmt.Errorf("read document: %w", err)
	}
	value, err := tx.get(bucketDocs, key)
	if err != nil || value == nil {
		return false, err
	}
	whole := reflect.New(reflect.TypeOf(v).Elem()) // an error in the middle leaves half a document behind
	if err := json.Unmarshal(value, whole.Interface()); err != nil {
		tx.leaveOut(fmt.Errorf("document %q: %w: %v", name, ErrRecord, err))
		return false, nil
	}
	reflect.ValueOf(v).Elem().Set(whole.Elem())
	return true, nil
}

// PutDoc keeps v as JSON under name; a nil v deletes the document. For settings and small state: every
// change writes the whole document.
func (tx *Tx) PutDoc(name string, v any) error {
	key, err := idKey(name)
	if err != nil {
		return fmt.Errorf("keep document: %w", err)
	}
	if v == nil {
		return tx.del(bucketDocs, key)
	}
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode document %q: %w", name, err)
	}
	return tx.put(bucketDocs, key, value)
}

// Docs are up to limit documents whose names begin with prefix and follow after, which may be empty, by those names, which are
// no longer than MaxID. One that cannot be read is left out.
func Docs[T any](tx *Tx, prefix, after string, limit int) (map[string]T, error) {
	docs := map[string]T{}
	start := []byte(prefix)
	if after != "" {
		start = append([]byte(after), 0)
	}
	err := tx.between(bucketDocs, start, nil, func(key, value []byte) (bool, error) {
		if !bytes.HasPrefix(key, []byte(prefix)) {
			return false, nil
		}
		var v T
		if err := json.Unmarshal(value, &v); err != nil {
			tx.leaveOut(fmt.Errorf("document %q: %w: %v", key, ErrRecord, err))
			return true, nil
		}
		docs[string(key)] = v
		return len(docs) < limit, nil
	})
	return docs, err
}
