//go:build !windows && !darwin

package policy

// place is the file of the policy. A build for tests has another.
var place = "/etc/countersign/policy.json"
