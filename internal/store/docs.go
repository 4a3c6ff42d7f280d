package store

// DocNames are the names of the documents whose names begin with prefix, which is not empty, in their order.
func (tx *Tx) DocNames(prefix string) (names []string, err error) {
	key, err := idKey(prefix)
	if err != nil {
		return nil, err
	}
	err = tx.oldest(bucketDocs, key, func(key, _ []byte) (bool, error) {
		names = append(names, string(key))
		return true, nil
	})
	return names, err
}
