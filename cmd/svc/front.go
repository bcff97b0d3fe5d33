package main

import (
	"context"
	"net/http"
	"slices"

	"svc/ingest"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/config"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/problem"
	"svc/internal/lifecycle"
	"svc/internal/openapi"
	"svc/internal/registry"
	"svc/readapi"
)

// registryPath is the path of the read-only schema registry for this build.
const registryPath = "/registry"

// operations returns the operations of all roles, because the description of the API does not depend on the roles of a
// process.
func operations() []contract.Operation {
	return slices.Concat(ingest.Operations(), readapi.Operations(), keys.Operations(), subscribers.Operations(),
		users.Operations(), walls.Operations(), layout.Operations(), contract.Operations(healthRoutes()))
}

// describe mounts the routes that every process with a public port has.
func (h *service) describe() {
	contract.Mount(h.router, h.shell, h, healthRoutes())
	openapi.Mount(h.router, openapi.Config{Shell: h.shell, Operations: operations()})
	registry.Mount(h.router, registryPath, registry.Subjects(h.config.TopicPrefix))
}

func healthRoutes() []contract.Route[*service] {
	all := []contract.Route[*service]{
		{Operation: contract.Operation{
			Path: "/healthz", ID: "getHealth", Summary: "Check that the process is alive",
		}, Serve: func(_ *service, w http.ResponseWriter, r *http.Request) { lifecycle.Alive(w, r) }},
		{Operation: contract.Operation{
			Path: "/readyz", ID: "getReadiness", Summary: "Check that the process is ready: it has caught up and reaches its servers",
			About: "If the process is not ready, the response is 503 with one line for each failed check. " +
				"Each line begins with the name of the check. If exclude names an unknown check, the last line is a warning.",
			Parameters: []contract.Parameter{{
				Name: "exclude", In: "query", About: "Name of a check to skip; may be repeated.", Example: "view",
			}},
			RefusesOnPage: []problem.Kind{problem.Unavailable},
		}, Serve: func(h *service, w http.ResponseWriter, r *http.Request) { h.Health.ServeReadiness(w, r) }},
	}
	for i := range all {
		all[i].Method, all[i].Group, all[i].Bare = http.MethodGet, "Health", []string{"text/plain"}
	}
	return all
}

// wireLimits enforces the rate limits of keys, and records when keys were used.
func (h *service) wireLimits() {
	limits := limit.New(h.redis, h.now)
	h.shell.Limits = limits
	h.metrics.Counter("svc_rate_limited_requests_total",
		"Requests refused or messages delayed because their key exceeded its rate.", limits.Limited)
	h.metrics.Counter("svc_rate_unshared_requests_total",
		"Requests whose rate this instance limited separately because Redis did not respond in time.", limits.Unshared)
	h.metrics.Gauge("svc_rate_limited_keys", "Keys that were throttled at least once recently.", limits.Clients)

	rate := h.config.StrangersRate
	strangers := limit.NewStrangers(limit.Rate{PerSecond: float64(rate), Burst: strangersBurst * rate}, h.now)
	h.shell.Strangers = strangers
	h.metrics.Counter("svc_unauthorized_limited_total",
		"Requests refused because their address sent too many requests without a valid key.", strangers.Limited)

	used := keys.NewLastUse(h.now)
	h.shell.Used = used.Record
	h.Run("last use", func(ctx context.Context) error { return used.Run(ctx, h.redis.StoreUses) })
}

// wireShares limits each hospital to its share of the processors.
func (h *service) wireShares() *limit.Share {
	share := limit.NewShare(h.redis, h.now)
	for _, reason := range limit.Reasons() {
		h.metrics.Labelled("svc_ingest_beyond_share_total",
			"Requests and messages refused or not read because their hospital exceeded its share of the processors, by reason.",
			"reason", reason.String(), func() int64 { return share.Refused(reason) })
	}
	return share
}

// strangersBurst is how many seconds' worth of requests without a key may arrive at once.
const strangersBurst = 30

// servers returns the public servers. Each is a function that serves until its context ends, and then completes the
// in-flight requests.
func (h *service) servers(needs config.Need) (servers []func(context.Context) error) {
	if needs&config.NeedHTTP != 0 {
		servers = append(servers, h.public().Run)
	}
	for _, front := range h.mllpFronts {
		servers = append(servers, front.Run)
	}
	return servers
}

// public returns the API server, which serves the routes of the roles on one port.
func (h *service) public() *lifecycle.Server {
	opened := make(chan struct{})
	h.Ports = append(h.Ports, opened)
	return &lifecycle.Server{
		Address: h.config.Listen, Option: "listen", Handler: h.router, Wrap: h.shell.Listener,
		After: h.Ready, Opened: opened, Drain: h.config.Drain, Within: h.config.ShutdownWithin,
	}
}

// createRouter creates the router of the public port. All roles share it, so that the Allow header of a path lists
// the methods of all roles. It is not an [http.ServeMux], which would respond to a path such as //x/.. with a
// redirect in HTML, whereas every response must have the envelope.
func (h *service) createRouter() {
	h.router = h.shell.Router()
	h.describe()
}
