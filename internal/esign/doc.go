// Package esign is the signing service's interface as Go: the sign-in, the API calls, the records, the events and
// the signature on them.
//
// It follows interface.md. Where that is silent it follows the RFC, and where there is none the choice stands in
// assumed.go with its source. Answers are decoded leniently (both published shapes, null or absent, unknown fields,
// unknown states), requests are encoded strictly.
//
// What it promises: a token, code, secret, signature or body never appears in an error's text or in the log; a
// credential never goes to another host than the one it is for; a new refresh token is committed before the access
// token that came with it is used; a lost answer to [Client.AddPackage] is reported as [ErrOutcomeUnknown] and never
// repeated here.
//
// What it must not know: where anything is stored, who shows it, and any other package of this program.
package esign
