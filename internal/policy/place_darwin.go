package policy

// place is the policy file. Tests use another.
var place = "/Library/Application Support/Countersign/policy.json"
