package store

import (
	"errors"

	"countersign/internal/office"
)

// keyService is where bucketMeta keeps the name of the service in use.
var keyService = []byte("service")

// Service is the name of the service in use; "" before the first UseService. What is stored belongs to it unless it says
// otherwise.
func (tx *Tx) Service() (string, error) {
	name, err := tx.get(bucketMeta, keyService)
	return string(name), err
}

// home completes which service a record belongs to, and whether that is another one than the one in use.
func (tx *Tx) home(service *string, away *bool) error {
	here, err := tx.Service()
	if err != nil {
		return err
	}
	if *service == "" {
		*service = here
	}
	*away = *service != here
	return nil
}

// UseService makes name the service in use. Packages, drafts and jobs of another one stay, but are never due; those of
// name are due again as they were when it was left. What was stored before the first call belongs to the first service.
func (tx *Tx) UseService(name string) error {
	here, err := tx.Service()
	if err != nil || here == name {
		return err
	}
	if err := tx.put(bucketMeta, keyService, []byte(name)); err != nil {
		return err
	}
	changed, err := tx.notAtHome(name)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range changed.packages {
		failed = append(failed, tx.PutPackage(p))
	}
	for _, j := range changed.jobs {
		failed = append(failed, tx.PutJob(j))
	}
	for _, d := range changed.drafts {
		failed = append(failed, tx.PutDraft(d))
	}
	return errors.Join(failed...)
}

type records struct {
	packages []office.Package
	jobs     []office.Job
	drafts   []office.Draft
}

// notAtHome are the records whose Service or Away is not as it is to be while name is in use.
func (tx *Tx) notAtHome(name string) (r records, err error) {
	wrong := func(service string, away bool) bool { return service == "" || away != (service != name) }
	err = tx.Packages(func(p office.Package) bool {
		if wrong(p.Service, p.Away) {
			r.packages = append(r.packages, p)
		}
		return true
	})
	if err != nil {
		return r, err
	}
	drafts, err := tx.Drafts()
	for _, d := range drafts {
		if wrong(d.Service, d.Away) {
			r.drafts = append(r.drafts, d)
		}
	}
	if err != nil {
		return r, err
	}
	return r, tx.oldest(bucketJobs, nil, func(key, value []byte) (bool, error) {
		j, err := decode[office.Job](bucketJobs, key, value)
		if errors.Is(err, ErrRecord) {
			tx.leaveOut(err)
			return true, nil
		}
		if err == nil && wrong(j.Service, j.Away) {
			r.jobs = append(r.jobs, j)
		}
		return true, err
	})
}
