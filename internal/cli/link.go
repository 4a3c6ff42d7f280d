package cli

import "context"

// linkCmd prints where a person signs. Whoever has the link can sign, so that it goes to standard output and nowhere else.
type linkCmd struct {
	Package string `arg:"" complete:"package" help:"The package: its id, the beginning of its id, or its name."`
	Person  string `arg:"" complete:"person" help:"Who signs: the e-mail address, the name or the signer's id."`
}

func (c *linkCmd) Run(r *run) error {
	link, err := callLink.alone(r, look, linkRequest{c.Package, c.Person})
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

func (l *local) link(ctx context.Context, q linkRequest) (address string, err error) {
	id, err := l.find(q.Package)
	if err != nil {
		return "", err
	}
	return l.agent.SignerPage(ctx, id, q.Person)
}
