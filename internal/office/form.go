package office

// Form is what is typed into the form for a new package, complete or not. It is not checked, and its files are not copied.
type Form struct {
	Files      []FormFile  `json:"files,omitempty"`
	Signers    []Signer    `json:"signers,omitempty"`
	Template   *Template   `json:"template,omitempty"`      // with what is filled in
	Refused    string      `json:"refused_draft,omitempty"` // id of the refused draft from it whose place the new one takes
	Recipients []Recipient `json:"recipients,omitempty"`    // as typed, beside the standing ones
	NoCopy     []string    `json:"no_copy,omitempty"`       // addresses of standing recipients who do not get this one
	Name       string      `json:"name,omitempty"`
	Message    string      `json:"message,omitempty"`
	Due        string      `json:"due,omitempty"` // as 2026-12-31, or what is typed where that is no day
	Reference  string      `json:"reference,omitempty"`
	Sequential bool        `json:"sequential,omitempty"`
	Separate   bool        `json:"separate,omitempty"` // a package for each document
	Corrects   string      `json:"corrects,omitempty"` // as NewPackage.Corrects
}

// FormFile is a file that was added to a form.
type FormFile struct {
	Path  string `json:"path"`            // of its bytes
	From  string `json:"from,omitempty"`  // where it was found, if that is elsewhere
	Draft string `json:"draft,omitempty"` // id of the refused draft whose place the new one takes; empty for none
}

// Empty says whether anything was typed or added.
func (f Form) Empty() bool {
	return f.Template == nil && len(f.Files)+len(f.Signers)+len(f.Recipients)+len(f.NoCopy) == 0 && f.Name+f.Message+f.Due+f.Reference == ""
}
