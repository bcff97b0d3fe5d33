package main

import (
	"net/http"
	"slices"

	"svc/ingest"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi"
	"svc/internal/lifecycle"
	"svc/internal/openapi"
	"svc/internal/registry"
	"svc/readapi"
)

// registryPath is the path of the read-only registry of the build.
const registryPath = "/registry"

// operations returns the operations of all roles. The description of the API does not depend on
// the roles of a process.
func operations() []httpapi.Operation {
	return slices.Concat(ingest.Operations(), readapi.Operations(), keys.Operations(), subscribers.Operations(), users.Operations(), walls.Operations(), layout.Operations(), httpapi.Operations(healthRoutes()))
}

// describe mounts the routes that every process with a public port has.
func (h *service) describe() {
	httpapi.Mount(h.router, h.shell, h, healthRoutes())
	openapi.Mount(h.router, openapi.Config{Shell: h.shell, Operations: operations()})
	registry.Mount(h.router, registryPath, registry.Subjects(h.config.TopicPrefix))
}

func healthRoutes() []httpapi.Route[*service] {
	all := []httpapi.Route[*service]{
		{Operation: httpapi.Operation{
			Path: "/healthz", ID: "getHealth", Summary: "The process is alive",
		}, Serve: func(_ *service, w http.ResponseWriter, r *http.Request) { lifecycle.Alive(w, r) }},
		{Operation: httpapi.Operation{
			Path: "/readyz", ID: "getReadiness", Summary: "The process has caught up and reaches what it needs",
			About:      "Otherwise 503, with a line for each thing that is not, which begins with the name of the check.",
			Parameters: []httpapi.Parameter{{Name: "exclude", In: "query", About: "The name of a check that is left out; may be given more than once.", Example: "view"}},
		}, Serve: func(h *service, w http.ResponseWriter, r *http.Request) { h.Health.ServeReadiness(w, r) }},
	}
	for i := range all {
		all[i].Method, all[i].Group, all[i].Bare = http.MethodGet, "Health", []string{"text/plain"}
	}
	return all
}
