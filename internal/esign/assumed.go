package esign

import (
	"net/http"
	"time"
)

// Everything here is a choice that neither interface.md nor service-facts.md nor an RFC settles. When the truth
// becomes known, this is the file to change.
const (
	// The sample of interface.md, "Token response", for an answer without expires_in; a wrong guess costs one 401.
	assumedLifetime = 1800 * time.Second

	// Source: none. A lifetime beyond this is taken for this; a wrong guess costs one 401.
	longestLifetime = 24 * time.Hour

	// interface.md, "Token rules" 1 says "short" and no more: renew this long before the end, or a tenth of the
	// lifetime when that is less, so that a token of three seconds is of use too.
	refreshSkew = 30 * time.Second

	// interface.md, "Token rules" 3 gives 60 s of grace for a redeemed refresh token; one renewal, with all its
	// attempts, stays well inside so that the next one still is.
	refreshBound = 30 * time.Second

	// Source: none. Attempts of one renewal whose answer was lost, and the pause before the second one; it doubles.
	refreshAttempts = 4
	refreshPause    = 300 * time.Millisecond

	// Source: OpenID Connect Core 3.1.3.7 allows "some small leeway" without a number.
	idTokenLeeway = time.Minute

	// service-facts.md, 3: a part name is not shown. Many form parsers take a part without one for no file at all.
	uploadPartName = "file"

	// service-facts.md, 4.1: the default of state and of returnPackage is not known, so both are always sent.
	addState         = "open"
	addReturnPackage = true

	// service-facts.md, 4.2, exact casing. That signers sign in the order of the list is an assumption: no order
	// field was seen in a request.
	typeSequential = "Sequential"
	typeConcurrent = "concurrent"

	// service-facts.md, 4.1: the values of a recipient's type are not in the documents of the API; the web pages say CC and
	// BCC. One that is read is taken for BCC only where it says so, in any case.
	RecipientOpen  RecipientType = "CC"
	RecipientBlind RecipientType = "BCC" // the others are not shown that this person gets one

	// interface.md calls for externalId on the document, service-facts.md, 3 on the upload: it is sent in both.
	uploadExternalIDParam = "externalId"

	// service-facts.md, 7: "created" is the one value of sortBy that was seen, and no direction; it is taken for newest
	// first, as "last_used" of templates must be. Nothing relies on it: whoever reads a list looks at the order it has.
	listNewestFirst = "created"

	// service-facts.md, 7: "last_used" was seen. Whoever reads the list sorts it once more.
	templatesRecentFirst = "last_used"

	// Source: none ("size limits: not shown"). What an answer may cost in memory.
	maxJSON    = 8 << 20
	maxObjects = 200_000 // in it: an empty one has two bytes there and hundreds here
	maxValues  = 400_000 // likewise: each is a document where a list of them is expected
	maxError   = 64 << 10

	// Source: none. Nothing is an id that is longer than this.
	maxID = 128

	// Source: none. A call whose answer is read here ends after this; up- and downloads only when they stand still.
	callBound = 2 * time.Minute

	// Source: none. A Retry-After beyond this is taken for this.
	maxRetryAfter = 24 * time.Hour
)

// notReadyWords in an error code mean that a document cannot be downloaded yet. service-facts.md, 8: the answer for
// that is unknown. See downloadKind for the rest of the guess.
var notReadyWords = []string{"not_ready", "notready", "not_executed", "not_available", "not_yet", "not_signed", "pending",
	"processing", "in_progress", "generating"}

// notForPackages are the types of templates that packages are not made from. service-facts.md, 4.3 and 7: an automatic
// template is applied to single documents, and how is not shown.
var notForPackages = []string{"auto_template"}

// signerRoles are what service-facts.md, 5 calls the role of a signer, which is not the role in a template.
var signerRoles = []string{"signer", "guest", "host"}

// Also assumed, where the code reads better with the choice in place:
//
//   - A 404 or 405 whose error, if it has one, names nothing in the path (package_not_found does, not_found does not) may
//     say that the server does not serve the path, so the other form of the path is tried once, until one is known to be
//     served (http.go); interface.md, "Endpoints" writes both forms.
//   - The client's credentials go into the body (interface.md allows that or the header), which leaves no doubt whether the halves
//     of the header are form-encoded, and into the header, literally, where discovery names no other way (oauth.go).
//   - Discovery that answers 4xx or no usable JSON is no discovery; an endpoint it names on plain http is ignored in
//     favour of the one in interface.md (oauth.go).
//   - Once packages/add went out, only a clear refusal means that there is no package: a 4xx but 408 with an error code of
//     the service (service-facts.md, 10: words joined by "_", but {type}_exception_{error}), a 401 (RFC 9110, 15.5.2: "has not
//     been applied") and a 429 (RFC 6585, 4), which say themselves that they come before any work, with whatever words, for
//     interface.md shows none; a web page only with WWW-Authenticate or Retry-After. Any other answer, a redirect, a page of a
//     proxy, a bare 404 among them, may come from somebody in between who does not know (http.go).
//   - packages/add takes the form of its path from the calls before it, and interface.md's own without any (http.go).
//   - A template's people and documents go by the ids that templates/list gives them. A role is named beside its id where
//     the template has it once; where it has no id, by its name alone. A document that gets values and no file is named in
//     documents[] by its id, or by its name where it has none (packages.go).
//   - Which text fields a template's document has is read from data, in the shape of service-facts.md, 7 for packages/data
//     (templates.go).
//   - packages/rescind may be tried under both forms of its path, unlike packages/add: a path that is not served does nothing.
//     Its answer counts only if it names the package, and even then the status has the last word (packages.go).
//   - Nobody follows a signer where nextSignerId is null, missing, empty, all zeros or the signer's own (interface.md, "Events":
//     "not shown"; event.go).
//   - An event for a package that was withdrawn would be called package_rescinded, as its state and the other events are
//     (service-facts.md, 11.3: "probably exist"; event.go).
//   - A UUID in an event, a status, a list or the answer of packages/add names what is known by it in another case (RFC 9562, 4),
//     and goes back to the service as it was known first, unless the service does not tell about it so (agent/apply, apply.go).
//   - Documents that an answer names by their ids alone, all that interface.md promises of a status, are in the order they were
//     added, as far as no externalId says otherwise (agent/apply, apply.go).
//   - What a master file or a certificate consists of is not shown, so they are not compared with what was sent (agent/proof, match.go).
//   - An answer that begins as a PDF is the file, whatever 2xx it has (RFC 9110, 15.3.4), unless it says that it is a part (download.go).
//   - Deleting an endpoint the service does not know is a success (event.go).
//   - A redirect is followed to the same scheme, host and port only; that of a download also to another host by https,
//     without the token; that of packages/add never (http.go).
//   - A body that begins with "<" is a web page, whatever its label, and nobody's answer to a call of the API or for tokens;
//     with a 403 it is a network that blocks, for the service's own says why in JSON (http.go, client.go, oauth.go).
//   - A token answer with either token is a success whatever else it holds; 4xx without a readable OAuth error is no
//     word about the sign-in (oauth.go).
//   - The words of an event that tell its kind are taken in any case, and one that should be an id and is none for no id, but for
//     the package's and the event's own (event.go).
//   - An event without an offset in eventTime is in UTC, as interface.md, "Events" says it is (lenient.go).

// interface.md lists /connect/revoke and shows no method, parameters or answer: a service that answers like one without
// the path has no revocation, and forgetting the tokens is all there is to signing out.
var noRevocation = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
