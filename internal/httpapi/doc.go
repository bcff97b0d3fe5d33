// Package httpapi is what every HTTP answer of the service has in common: the
// envelopes of protocol svc.v1, the table of errors, request ids, keys.
//
// A role mounts its routes on the router of a [Shell]:
//
//	r := shell.Router()
//	r.With(shell.Allow(access.ReadUnitState)).Get("/api/v1/level", level)
//
// and its handlers answer with [OK] or [Fail]; [Caller] is the key they serve.
// An answer of an error never contains a value of the request, and neither
// does the access log.
package httpapi
