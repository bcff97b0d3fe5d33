// Package api is what every HTTP answer of the service has in common: the
// envelopes of protocol svc.v1, the table of errors, request ids, keys.
//
// A role builds its router from it in four lines:
//
//	r := chi.NewRouter()
//	r.Use(shell.Wrap)
//	r.NotFound(api.NotFound)
//	r.MethodNotAllowed(api.MethodNotAllowed)
//	r.With(shell.Allow(access.ReadUnitState)).Get("/api/v1/level", level)
//
// and its handlers answer with [OK] or [Fail]; [Caller] is the key they serve.
// An answer of an error never contains a value of the request, and neither
// does the access log.
package api
