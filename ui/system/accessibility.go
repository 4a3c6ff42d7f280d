package system

import "context"

// Accessibility is how the system is set for people who see little, or whom motion disturbs. The zero value asks for nothing.
type Accessibility struct {
	Contrast      bool // high contrast
	Text          int  // size in percent, 100 to 200; 0 where the system does not say
	ReducedMotion bool // nothing moves that does not have to
}

// ReadAccessibility asks the system. It may take two seconds; what the system does not say stays zero. An error means that it does
// not answer now, and says nothing of how it is set.
func ReadAccessibility(ctx context.Context) (Accessibility, error) {
	a, err := readAccessibility(ctx)
	if a.Text > 0 { // the window is made for sizes between these
		a.Text = min(max(a.Text, 100), 200)
	}
	return a, err
}
