package cli

import (
	"os"

	"countersign/internal/preview"
)

// pageCmd is the child process in which the window has documents drawn.
type pageCmd struct {
	File  string `arg:""`
	Width int    `arg:""`
}

func (c *pageCmd) Run(r *run) error {
	if err := preview.Draw(r.ctx, c.File, c.Width, r.program.Stdout); err != nil {
		return &failure{"The page could not be drawn: " + err.Error() + "."}
	}
	return nil
}

// pagePainter is this program as the painter of pages; nil where it does not know its own path.
func pagePainter() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "page"}
}
