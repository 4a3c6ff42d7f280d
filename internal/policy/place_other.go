//go:build !windows && !darwin

package policy

// place is the policy file. Tests use another.
var place = "/etc/countersign/policy.json"
