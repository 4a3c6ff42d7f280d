package policy

// place is the file of the policy. A build for tests has another.
var place = "/Library/Application Support/Countersign/policy.json"
