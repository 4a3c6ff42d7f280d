package esign

import (
	"net/http"
	"time"
)

// Everything here is a choice that neither interface.md nor service-facts.md nor an RFC settles. When the service's real
// behaviour becomes known, change this file.
const (
	// The lifetime of a token whose answer lacks expires_in: that of the sample in interface.md, "Token response". A wrong
	// guess costs one 401.
	assumedLifetime = 1800 * time.Second

	// Source: none. A longer lifetime is reduced to this; a wrong guess costs one 401.
	longestLifetime = 24 * time.Hour

	// interface.md, "Token rules" 1 only says "short": renew this long before expiry, or a tenth of the lifetime if
	// that is less, so that even a token of three seconds is useful.
	refreshSkew = 30 * time.Second

	// interface.md, "Token rules" 3 gives a redeemed refresh token 60 s of grace. One renewal with all its attempts stays
	// below that, so that the next one is within the grace period, too.
	refreshBound = 50 * time.Second

	// Source: none. How long the first attempt waits for an answer; each further one waits three times as long, or a slow
	// service would never be heard out.
	refreshFirst = 10 * time.Second

	// Source: none. The attempts of one renewal whose answer was lost, and the pause before the second attempt; it doubles
	// each time.
	refreshAttempts = 4
	refreshPause    = 300 * time.Millisecond

	// Source: none. A code is redeemed again after at most this pause, if the service asks for one: it lives for ten minutes at
	// most (RFC 6749, 4.1.2), and a person waits.
	codePatience = 10 * time.Second

	// Source: OpenID Connect Core 3.1.3.7 allows "some small leeway" without a number.
	idTokenLeeway = time.Minute

	// service-facts.md, 3: the name of the form part is not shown. Many form parsers ignore a file in a part without a name.
	uploadPartName = "file"

	// service-facts.md, 4.1: the defaults of state and of returnPackage are not known, so both are always sent.
	addState         = "open"
	addReturnPackage = true

	// service-facts.md, 4.2, exact casing. That signers sign in the order of the list is an assumption: no request with an
	// order field was seen.
	typeSequential = "Sequential"
	typeConcurrent = "concurrent"

	// service-facts.md, 4.1: the API's documentation does not show the values of a recipient's type; the web pages say CC
	// and BCC. A type that is read counts as BCC only if it says so, in any case.
	RecipientOpen  RecipientType = "CC"
	RecipientBlind RecipientType = "BCC" // the other recipients do not see this person

	// interface.md shows externalId on the document, service-facts.md, 3 on the upload: it is sent in both.
	uploadExternalIDParam = "externalId"

	// service-facts.md, 7: "created" is the only value of sortBy that was seen, and no direction was. It is assumed to mean
	// newest first, as "last_used" must for templates. Nothing relies on it: whoever reads a list checks its order.
	listNewestFirst = "created"

	// service-facts.md, 7: "last_used" was seen. Whoever reads the list sorts it again.
	templatesRecentFirst = "last_used"

	// Source: none ("size limits: not shown"). Limits of the memory that an answer may need.
	maxJSON    = 8 << 20
	maxObjects = 200_000 // in it: an empty one is two bytes there and hundreds in memory
	maxValues  = 400_000 // likewise: each is a document where a list of documents is expected
	maxError   = 64 << 10

	// Source: none. Nothing longer than this counts as an id.
	maxID = 128

	// Source: none. A call whose answer is read here fails after this, and so does an upload without an answer this long after
	// its last byte; otherwise uploads and downloads fail only when no data moves.
	callBound = 2 * time.Minute

	// Source: none. A longer Retry-After is reduced to this.
	maxRetryAfter = 24 * time.Hour
)

// notReadyWords, in an error code, mean that a document cannot be downloaded yet. service-facts.md, 8: how the service says
// this is unknown. See downloadKind for the rest of the guess.
var notReadyWords = []string{"not_ready", "notready", "not_executed", "not_available", "not_yet", "not_signed", "pending",
	"processing", "in_progress", "generating"}

// notForPackages are the types of templates from which no package is made. service-facts.md, 4.3 and 7: an automatic
// template is applied to single documents, and it is not shown how.
var notForPackages = []string{"auto_template"}

// signerRoles are the roles that mark a signer according to service-facts.md, 5. They are not the roles of a template.
var signerRoles = []string{"signer", "guest", "host"}

// Also assumed, in places where the code reads better with the choice beside it:
//
//   - A 404 or 405 may mean that the server does not serve the path at all, unless it has an error code that names
//     something in the path (package_not_found does, not_found does not). Then the other form of the path is tried once,
//     until one form is known to be served (http.go); interface.md, "Endpoints" shows both. The same goes for a web page
//     and for a redirect that is not followed, such as one to a sign-in page.
//   - The client's credentials go into the body (interface.md allows the body or the header), because in the header it is
//     unclear whether they must be form-encoded; they go into the header, literally, if discovery allows nothing else
//     (oauth.go).
//   - A 4xx or unusable JSON from discovery counts as no discovery. If discovery names an endpoint on plain http, the one
//     in interface.md is used instead (oauth.go).
//   - Once packages/add was sent, only a clear refusal means that there is no package: a 4xx other than 408 with an error
//     code of the service (service-facts.md, 10: words joined by "_", but not {type}_exception_{error}); a 401 (RFC 9110,
//     15.5.2: "has not been applied"), a 405 (15.5.6) or a 429 (RFC 6585, 4), which by definition come before any work,
//     whatever the text, because interface.md shows none; if it is a web page, only with WWW-Authenticate, Allow or
//     Retry-After; or a 400 or 422 of the type application/problem+json (RFC 9457), which is an application's word about
//     the request. Any other answer, such as a redirect, a proxy's page or a bare 404, may come from an intermediary that
//     does not know, or after the work: whoever reads the new package back may not find it yet (http.go).
//   - packages/add uses the form of the path that the calls before it found, or interface.md's own if there were none, or
//     if they found the form without the prefix but organizations/info is served with it (http.go).
//   - A template's people and documents are referred to by the ids from templates/list. A role's name is sent with its id
//     if the name is unique in the template, and alone if the role has no id. A document that gets values but no file is
//     named in documents[] by its id, or by its name if it has none (packages.go).
//   - Which text fields a template's document has is read from data, in the shape that service-facts.md, 7 shows for
//     packages/data (templates.go).
//   - packages/rescind, unlike packages/add, may be tried under both forms of its path: a path that is not served does
//     nothing. Its answer counts only if it names the package, and even then the status decides (packages.go).
//   - There is no next signer if nextSignerId is null, missing, empty, all zeros or the signer's own (interface.md,
//     "Events": "not shown"; event.go).
//   - The event for a withdrawn package would be called package_rescinded, in line with the state and the other events
//     (service-facts.md, 11.3: "probably exist"; event.go).
//   - A UUID in an event, a status, a list or the answer of packages/add that differs only in case from a known one means
//     the same thing (RFC 9562, 4). Requests use it as it was first seen, unless the service does not recognise it that way
//     (agent/apply, apply.go).
//   - If an answer identifies documents only by id, which is all that interface.md promises of a status, they are in the
//     order in which they were added, unless an externalId says otherwise (agent/apply, apply.go).
//   - A document that the status of an executed package leaves out for half an hour, although an event or an earlier answer named
//     it, was replaced or removed at the service (service-facts.md, 3 says that people replace documents; agent/reconcile,
//     status.go).
//   - The contents of a master file or a certificate are not specified, so they are not compared with what was sent
//     (agent/proof, match.go).
//   - An answer that begins as a PDF is the file, whatever its 2xx status (RFC 9110, 15.3.4), unless it says that it is
//     only a part (download.go).
//   - Deleting an endpoint that the service does not know is a success (event.go).
//   - A redirect is followed only to the same scheme, host and port; that of a download also to another host by https,
//     without the token; that of packages/add never (http.go).
//   - A body that begins with "<" is a web page, whatever its Content-Type, and never an answer to an API or token call.
//     With a 403 it comes from a network that blocks the service, because the service's own 403 gives its reason in JSON
//     (http.go, client.go, oauth.go).
//   - A token answer with either token is a success, whatever else it holds. A 4xx without a readable OAuth error says
//     nothing about the sign-in (oauth.go).
//   - The words that tell an event's kind match in any case. What should be an id but is none counts as missing, except for
//     the ids of the package and the event (event.go).
//   - An eventTime without an offset is UTC, as interface.md, "Events" says (lenient.go).

// interface.md lists /connect/revoke and /connect/userinfo but shows no method, parameters or answer. A service that answers
// as if the path did not exist has no such call; without revocation, signing out only means to forget the tokens.
var noSuchCall = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
