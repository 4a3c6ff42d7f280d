package cli

// linkCmd prints where a person signs. Whoever has the link can sign, so that it goes to standard output and nowhere else.
type linkCmd struct {
	Package string `arg:"" complete:"package" help:"The package: its id, the beginning of its id, or its name."`
	Person  string `arg:"" complete:"person" help:"Who signs: the e-mail address, the name or the signer's id."`
}

func (c *linkCmd) Run(r *run) error {
	o, err := r.office(look)
	if err != nil {
		return err
	}
	defer o.Close()
	link, err := o.SignPage(r.ctx, linkRequest{c.Package, c.Person})
	if err != nil {
		return err
	}
	return r.out.Line("%s", link)
}

// linkRequest asks for the page on which a person signs a package.
type linkRequest struct {
	Package string `json:"package"`
	Person  string `json:"person"`
}
