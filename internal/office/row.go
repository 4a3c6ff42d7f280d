package office

import (
	"countersign/internal/message"
	"countersign/internal/office/filename"
)

// PackageRow is a package as a list shows it.
type PackageRow struct {
	Package
	FilesDone  int
	FilesTotal int    // 0 until planned
	Files      []File // saved ones and those that are to be: signed documents, then certificates, then the master file
}

// File is one file of a package in the folder, or on its way there.
type File struct {
	Path       string // absolute; where it is, or will be
	Kind       FileKind
	DocumentID string // empty for a master file
	State      JobState
	Problem    message.Message // why it is not saved
}

// FileKind is what a file is.
type FileKind = filename.Kind

// The kinds of files, in the order in which a package shows them.
const (
	FileSigned      = filename.Signed
	FileCertificate = filename.Certificate
	FileMaster      = filename.Master
)
