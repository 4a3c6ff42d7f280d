package message

// What the files of a package are called in their names.

func FileSigned() Message      { return of("filename.signed") }
func FileCertificate() Message { return of("filename.certificate") }
func FileMaster() Message      { return of("filename.master") }
