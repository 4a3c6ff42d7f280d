package office

// Cursor marks a place in a list that is read page by page. The empty Cursor is the beginning of the list when
// passed in, and its end when returned. It stays valid when records are added or removed.
type Cursor string
