// Package httpapi has the parts that every HTTP answer of the service shares: the
// envelopes of protocol svc.v1, the table of errors, request ids, keys.
//
// A role mounts its routes on the router of a [Shell]:
//
//	r := shell.Router()
//	r.With(shell.Allow(access.ReadUnitState)).Get("/api/v1/level", level)
//
// Its handlers answer with [OK] or [Fail]; [Caller] is the key that they serve. Neither
// an error answer nor the access log ever contains a value of the request.
package httpapi
