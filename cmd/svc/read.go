package main

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/internal/admin/audit"
	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/settings"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/trial"
	"svc/internal/httpapi/access"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/internal/view"
	"svc/notifier/webhook"
	"svc/readapi"
	"svc/readapi/sources"
	"svc/readapi/web"
	"svc/readapi/web/integrations"
	"svc/readapi/web/page"
	"svc/readapi/web/signin"
	"svc/schemas"
)

// wireRead wires svc read, which answers requests from the view.
func wireRead(ctx context.Context, h *service) error {
	letters := h.deadLetters()
	reads := readapi.Mount(h.router, readapi.Config{
		Charts: sources.Charts{View: h.redis}, Dated: sources.Charts{View: h.redis.Dated()}, Shell: h.shell,
		Health: sources.Health{
			View: h.redis, Register: h.settings.Register, Cluster: h.cluster,
			Topic: h.config.Topic(schemas.Observations()), Partitions: h.partitions,
			DeadLetters: letters.Open, LogFull: h.config.KafkaFull,
		},
		LocalSettings: sources.LocalSettings{View: h.redis, Register: h.settings.Register},
		Forecasts:     sources.Forecasts{View: h.models(), Zones: h.settings.Register.Zone},
		Hours:         sources.RecordedHours(h.cluster, h.config.Topic(schemas.Snapshots()), h.partitions),
	})
	keys.MountReads(h.router, h.keys())
	walls.MountReads(h.router, wallsConfig(h))
	layout.MountReads(h.router, layoutConfig(h))
	users.MountReads(h.router, usersConfig(h))
	subscribers.MountReads(h.router, h.subscribers())
	readapi.MountAudit(h.router, h.shell, h.audit.List, h.settings.Register.Zone)
	readapi.MountDeadLetters(h.router, h.shell, listed(letters))
	h.watchCurrency()
	h.Health.Add("redis", h.redis.Ping)
	h.Health.Add("view", h.checkView)
	h.Health.Add("lists", func(ctx context.Context) error { return checkPartitions(ctx, h, h.redis.Lists().Faults) })
	h.Health.Add("forecast", func(ctx context.Context) error { return checkPartitions(ctx, h, h.models().Faults) })
	if err := h.mountAlerts(); err != nil {
		return err
	}
	// forwardWrites comes last, because it forwards the operations that no role of this process serves.
	writes := h.forwardWrites()
	return mountPages(ctx, h, reads, writes)
}

// mountPages adds the pages, which show the results of the read API. If writes is true and the process has the
// secrets key, the pages also offer actions.
func mountPages(ctx context.Context, h *service, reads *readapi.Reads, writes bool) error {
	writeSettings(h)
	changed := view.NewChanged(h.redis)
	h.Run("changed", changed.Run)
	cfg := web.Config{
		Config: page.Config{
			Hospitals: hospitalNames{h.settings.Register}, Users: h.settings.Users, Stranger: h.shell.Stranger,
			Secure: !h.config.ServesLoopback(), Now: h.now, Log: h.log, Await: h.settings.Await, Position: h.settings.Seen,
			Refused: h.recordPageRefusal,
		},
		Reads:   reads,
		Changes: changed, Ends: ctx,
		Layouts: h.settings.Layouts, Links: h.office(), Directory: directory{h.office(), h.settings.Register},
		Walls: screens{h.wallOffice(), h.settings.Walls},
	}
	if h.settings.Seals != nil {
		seals, err := h.settings.Seals.For("pages")
		if err != nil {
			return err
		}
		cfg.Seals = seals
		if cfg.OIDC, err = providerOf(h); err != nil {
			return err
		}
		if writes {
			cfg.Acts = actsBy(h)
			cfg.Administration = administrationBy(h, reads)
			cfg.Administration.Past = trial.New(ctx, observations(h), h.now, h.log)
		}
	}
	web.Mount(h.router, cfg)
	return nil
}

// recordPageRefusal records that a request to a page was refused.
func (h *service) recordPageRefusal(r *http.Request, hospital, user, reason string) {
	h.refusals.Add(r.Context(), audit.Act{
		Hospital: cmp.Or(hospital, audit.Installation), By: cmp.Or(user, audit.Unknown), Action: audit.ActRefuse, Reason: reason,
		Subject: r.Method + " " + chi.RouteContext(r.Context()).RoutePattern(),
	})
}

// actsBy returns the API through which the pages carry out the actions of users.
func actsBy(h *service) *web.API {
	token := func(scope access.Scope) func(hospital, user string) string {
		return func(hospital, user string) string { return h.actors.Token(hospital, user, scope) }
	}
	return &web.API{
		Handler: h.router, StaffToken: token(access.IngestStaffing), AckToken: token(access.Acknowledge),
		Alerts: sources.Deliveries{Lists: h.redis.Lists()}.Episodes, Audit: h.audit.Record, Now: h.now,
	}
}

// administrationBy returns the API through which the pages carry out the actions of administrators.
func administrationBy(h *service, reads *readapi.Reads) *integrations.Administration {
	level := func(ctx context.Context, hospital string) acuity.Level {
		verdict, err := reads.Verdict(ctx, hospital)
		if err != nil {
			return 0
		}
		return verdict.Level
	}
	mllp := make([]string, 0, len(h.config.MLLP.Senders))
	for _, sender := range h.config.MLLP.Senders {
		mllp = append(mllp, sender.Address)
	}
	return &integrations.Administration{
		MLLP: strings.Join(mllp, ", "),
		TestRequest: func(ctx context.Context, hospital, hook, command, name string, occurred, sent time.Time) string {
			known, ok := h.settings.Subscribers.Webhook(hospital, hook)
			if !ok {
				return ""
			}
			c := &outbound.Command{ID: command, Hospital: hospital, Endpoint: hook, Channel: subscriber.ChannelWebhook, At: occurred}
			if name != outbound.Ping {
				c.Event = name
			}
			return webhook.Reproduce(known, c, level(ctx, hospital), sent)
		},
		ShowOnce: h.office().ShowOnce,
		API:      h.router, Token: h.actors.AdminToken, URL: h.config.PublicURL, Operations: operations(),
		Counts: func(hospital string) map[string]int { return countsOf(h.settings, hospital, h.now()) },
	}
}

// countsOf counts the settings of a hospital, by section of the page.
func countsOf(s *settings.Store, hospital string, now time.Time) map[string]int {
	counts := map[string]int{
		"webhooks": len(s.Subscribers.Webhooks(hospital)), "walls": len(s.Walls.Walls(hospital)), "users": len(s.Users.Users(hospital)),
		"alerts": len(s.Subscribers.Recipients(hospital)),
	}
	for _, key := range s.Register.Keys(hospital) {
		if key.Valid(now) {
			counts["keys"]++
		}
	}
	return counts
}

// observations returns the log of observations.
func observations(h *service) inputlog.Source {
	return inputlog.Committed(h.cluster, h.config.Topic(schemas.Observations()))
}

// hospitalNames implements [page.Hospitals] on the register of hospitals.
type hospitalNames struct{ register *access.Register }

// Hospital implements [page.Hospitals].
func (n hospitalNames) Hospital(id string) (name string, zone *time.Location, ok bool) {
	h, ok := n.register.Hospital(id)
	return cmp.Or(h.Name, id), n.register.Zone(id), ok
}

// oidcAnswers is the time limit for one request to the identity provider.
const oidcAnswers = 5 * time.Second

// providerOf returns the identity provider of the pages, or nil if none is configured.
func providerOf(h *service) (*signin.Provider, error) {
	o := &h.config.OIDC
	if o.Issuer == "" {
		return nil, nil
	}
	ring, err := h.settings.Seals.For("subjects")
	if err != nil {
		return nil, err
	}
	return &signin.Provider{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, GroupsClaim: o.GroupsClaim, Roles: o.Roles, ACR: o.ACR,
		Callback: h.config.PublicURL + signin.CallbackPath, Client: &http.Client{Timeout: oidcAnswers},
		Subject: func(issuer, subject string) [][]byte { return ring.MAC(issuer + "\n" + subject) },
	}, nil
}
