//go:build !darwin

package system

// within keeps a text size between those that the window is made for; 0 for one that says nothing.
func within(percent int) int {
	if percent <= 0 {
		return 0
	}
	return min(max(percent, 100), 200)
}
