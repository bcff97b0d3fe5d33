package main

import (
	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/readapi/web/signin"
)

// office returns the administration of users and links. Each change is recorded as an act.
func (h *service) office() *users.Office { return h.settings.Office(h.audit.Record, h.now) }

// usersConfig returns the configuration of the routes that administer users.
func usersConfig(h *service) users.Config {
	return users.Config{Shell: h.shell, Office: h.office(), URL: func(token string) string { return h.config.PublicURL + signin.LinkPath + token }}
}

// directory stores the users that an identity provider signs in.
type directory struct {
	*users.Office
	register *access.Register
}

// Hospitals implements [signin.Directory].
func (d directory) Hospitals() (ids []string) {
	for _, h := range d.register.Hospitals() {
		ids = append(ids, h.ID)
	}
	return ids
}
