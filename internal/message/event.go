package message

// Events, and requests that are none.

func EventUnhandled() Message        { return of("event.unhandled") }
func EventNamesNone() Message        { return of("event.names-none") }
func EventUnreadable() Message       { return of("event.unreadable") }
func EventPackageUnusable() Message  { return of("event.package-unusable") }
func EventDocumentUnusable() Message { return of("event.document-unusable") }
func EventUnknown() Message          { return of("event.unknown") }
func ListNamesUnusable() Message     { return of("event.list-names-unusable") }
func RequestUnsigned() Message       { return of("event.request-unsigned") }
func RequestForged() Message         { return of("event.request-forged") }
func RequestTooLarge() Message       { return of("event.request-too-large") }
func RequestNoEvent() Message        { return of("event.request-no-event") }
func RequestNotStored() Message      { return of("event.request-not-stored") }
func RequestsTooMany() Message       { return of("event.requests-too-many") }
func RequestCutShort() Message       { return of("event.request-cut-short") }
