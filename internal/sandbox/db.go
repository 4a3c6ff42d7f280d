package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Every record is one JSON value in one bbolt bucket, so a kill at any instruction leaves the last whole transaction.
const (
	bucketKeys       = "keys"       // keyRS256, keyForms and keyTemplates
	bucketSessions   = "sessions"   // hash of the cookie -> session
	bucketConsents   = "consents"   // email|client -> granted scopes
	bucketCodes      = "codes"      // hash of the code -> authCode
	bucketGrants     = "grants"     // grant id -> grant: the family of tokens one sign-in gave
	bucketAccess     = "access"     // hash of the token -> accessToken
	bucketRefresh    = "refresh"    // hash of the token -> refreshToken
	bucketEndpoints  = "endpoints"  // organization|client -> endpoint
	bucketFiles      = "files"      // file id -> file
	bucketPackages   = "packages"   // package id -> pack
	bucketLinks      = "links"      // link token -> link
	bucketDeliveries = "deliveries" // sequence -> delivery
	bucketTemplates  = "templates"  // template id -> packTemplate
)

var buckets = []string{
	bucketKeys, bucketSessions, bucketConsents, bucketCodes, bucketGrants, bucketAccess, bucketRefresh,
	bucketEndpoints, bucketFiles, bucketPackages, bucketLinks, bucketDeliveries, bucketTemplates,
}

var errNotFound = errors.New("not found")

// openDB opens the state in dir. durable also survives a power cut; without it, writes are left to the system.
func openDB(dir string, durable bool) (*bolt.DB, error) {
	path := filepath.Join(dir, "sandbox.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 3 * time.Second, NoSync: !durable, NoFreelistSync: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("the folder %q is in use by another sandbox", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the state in %q: %w", dir, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucketIfNotExists([]byte(b)); err != nil {
				return err
			}
		}
		_, err := get[[]byte](tx, bucketKeys, keyForms)
		if errors.Is(err, errNotFound) {
			return put(tx, bucketKeys, keyForms, []byte(newToken()))
		}
		return err
	})
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("preparing the state in %q: %w", dir, err)
	}
	return db, nil
}

// get reads one record, or errNotFound.
func get[T any](tx *bolt.Tx, bucket, key string) (T, error) {
	var v T
	raw := tx.Bucket([]byte(bucket)).Get([]byte(key))
	if raw == nil {
		return v, errNotFound
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("reading %s %q: %w", bucket, key, err)
	}
	return v, nil
}

func put(tx *bolt.Tx, bucket, key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", bucket, err)
	}
	return tx.Bucket([]byte(bucket)).Put([]byte(key), raw)
}

func remove(tx *bolt.Tx, bucket, key string) error {
	return tx.Bucket([]byte(bucket)).Delete([]byte(key))
}

// each calls fn with every record of a bucket in key order. fn must not write to the bucket.
func each[T any](tx *bolt.Tx, bucket string, fn func(key string, v T) error) error {
	return tx.Bucket([]byte(bucket)).ForEach(func(k, raw []byte) error {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("reading %s %q: %w", bucket, k, err)
		}
		return fn(string(k), v)
	})
}

// read is get in a transaction of its own.
func read[T any](db *bolt.DB, bucket, key string) (v T, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		v, err = get[T](tx, bucket, key)
		return err
	})
	return v, err
}

// sweep deletes the records of a bucket for which stale says so.
func sweep[T any](tx *bolt.Tx, bucket string, stale func(T) bool) error {
	var keys []string
	err := each(tx, bucket, func(key string, v T) error {
		if stale(v) {
			keys = append(keys, key)
		}
		return nil
	})
	for _, k := range keys {
		err = errors.Join(err, remove(tx, bucket, k))
	}
	return err
}
