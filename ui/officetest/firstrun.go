package officetest

import (
	"errors"

	"countersign/internal/agent"
)

// ReadOffice is env.Office's: the files of Handed can be read.
func (o *Office) ReadOffice(path string) (agent.OfficeFile, error) {
	file, ok := o.Handed[path]
	if !ok {
		return agent.OfficeFile{}, errors.New("the file \"x.countersign\" was not made by Countersign. Ask your administrator for a new one")
	}
	return file, nil
}

// KeepFirstRun is env.Office's.
func (o *Office) KeepFirstRun(f agent.FirstRun) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Entered = &f
	return nil
}

// FirstRun is env.Office's.
func (o *Office) FirstRun() (agent.FirstRun, bool) {
	f := read(o, func() *agent.FirstRun { return o.Entered })
	if f == nil {
		return agent.FirstRun{}, false
	}
	return *f, true
}
