package main

import (
	"svc/internal/admin/layout"
	"svc/internal/admin/walls"
	"svc/readapi/web"
)

// wallsConfig returns the configuration of the routes that administer walls.
func wallsConfig(h *service) walls.Config {
	office := &walls.Office{Register: h.settings.Walls, Put: h.settings.PutWall, Audit: h.audit.Record, Now: h.now}
	return walls.Config{Shell: h.shell, Office: office, URL: func(token string) string { return h.config.PublicURL + web.WallPath + token }}
}

// layoutConfig returns the configuration of the routes that administer layouts.
func layoutConfig(h *service) layout.Config {
	s := h.settings
	return layout.Config{Shell: h.shell, Office: &layout.Office{Register: s.Layouts, Seen: s.Seen, Put: s.PutLayout, Audit: h.audit.Record, Now: h.now}}
}
