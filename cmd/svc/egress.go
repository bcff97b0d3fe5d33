package main

import (
	"context"
	"errors"

	"svc/notifier/egress"
)

// guard decides which addresses may be called for a hospital.
func (c *config) guard() *egress.Guard {
	return egress.New(egress.Config{Allow: c.EgressAllow, Loopback: c.EgressLoopback})
}

// checkEndpoint is the guard as the administration of webhooks asks it: why the
// URL of an endpoint is refused, or what to warn of. A name that does not resolve
// yet is no fault of the URL; the guard looks again at every attempt.
func checkEndpoint(g *egress.Guard) func(ctx context.Context, hospital, url string) (refused, warning string) {
	return func(ctx context.Context, hospital, url string) (refused, warning string) {
		fault, ok := errors.AsType[*egress.RefusedError](g.Check(ctx, hospital, url))
		switch {
		case !ok:
			return "", ""
		case fault.Reason == egress.NameUnresolved:
			return "", string(fault.Reason)
		}
		return string(fault.Reason), ""
	}
}
