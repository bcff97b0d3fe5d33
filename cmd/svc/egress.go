package main

import (
	"context"
	"errors"

	"svc/notifier/egress"
)

// guard returns the rule that decides which addresses a hospital may call.
func (c *config) guard() *egress.Guard {
	return egress.New(egress.Config{Allow: c.EgressAllow, Loopback: c.EgressLoopback})
}

// checkEndpoint returns the guard for the administration of webhooks: why the URL of an endpoint
// is refused, or a warning. A name that does not resolve yet is no fault of the URL; the guard
// checks it at every attempt.
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
