package loop

import "sync"

// Failures counts failed questions about packages, of each package and in a row: one package that always fails must not keep
// the others waiting, and a service that is out of reach must not be asked about each of them. Safe for concurrent use.
type Failures struct {
	mu    sync.Mutex
	tries map[string]int // packageId -> failures in a row
	row   int            // failures of whatever package since the last answer
	stops int            // rounds broken off since then
}

// Add counts a failure.
func (t *Failures) Add(id string) (tries, row int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tries == nil {
		t.tries = map[string]int{}
	}
	t.tries[id]++
	t.row++
	return t.tries[id], t.row
}

// Clear notes an answer.
func (t *Failures) Clear(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tries, id)
	t.row, t.stops = 0, 0
}

// Round counts a round that was broken off, and returns how many there were in a row.
func (t *Failures) Round() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stops++
	return t.stops
}
