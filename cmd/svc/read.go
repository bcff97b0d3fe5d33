package main

import (
	"context"

	"svc/internal/admin/keys"
	"svc/internal/admin/layout"
	"svc/internal/admin/subscribers"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/readapi"
	"svc/readapi/sources"
	"svc/schemas"
)

// wireRead is svc read. It answers requests from the view.
func wireRead(ctx context.Context, h *service) error {
	letters := h.deadLetters()
	reads := readapi.Mount(h.router, readapi.Config{
		Charts: sources.Charts{View: h.redis}, Dated: sources.Charts{View: h.redis.Dated()}, Shell: h.shell,
		Health: sources.Health{
			View: h.redis, Register: h.settings.Register, Cluster: h.cluster, Topic: h.config.Topic(schemas.Observations()), Partitions: h.partitions,
			DeadLetters: letters.Open, LogFull: h.config.KafkaFull,
		},
		LocalSettings: sources.LocalSettings{View: h.redis, Register: h.settings.Register}, Forecasts: sources.Forecasts{View: h.models(), Zones: h.settings.Register.Zone},
		Hours: sources.RecordedHours(h.cluster, h.config.Topic(schemas.Snapshots()), h.partitions),
	})
	keys.MountReads(h.router, h.keys())
	walls.MountReads(h.router, wallsConfig(h))
	layout.MountReads(h.router, layoutConfig(h))
	users.MountReads(h.router, users.Config{Shell: h.shell, Office: h.office()})
	subscribers.MountReads(h.router, h.subscribers())
	readapi.MountAudit(h.router, h.shell, h.audit.List, h.settings.Register.Zone)
	readapi.MountDeadLetters(h.router, h.shell, listed(letters))
	h.Health.Add("redis", h.redis.Ping)
	h.Health.Add("view", h.shows)
	h.Health.Add("lists", func(ctx context.Context) error { return partitionsRead(ctx, h, h.redis.Lists().Faults) })
	h.Health.Add("forecast", func(ctx context.Context) error { return partitionsRead(ctx, h, h.models().Faults) })
	if err := mountPages(ctx, h, reads); err != nil {
		return err
	}
	return h.mountAlerts()
}
