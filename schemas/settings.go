package schemas

import (
	"time"

	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
)

func keyFields(c *coder, k *access.Key) {
	c.text(&k.ID)
	c.text(&k.Hospital)
	c.text(&k.Name)
	c.fixed(k.Hash[:])
	list(c, &k.Scopes, word[access.Scope])
	c.when(&k.CreatedAt)
	c.when(&k.ExpiresAt)
	c.when(&k.RevokedAt)
	c.double(&k.Rate)
	c.number(&k.Burst)
	c.text(&k.Source)
	c.text(&k.Prefix)
}

func hospitalFields(c *coder, h *access.Hospital) {
	c.text(&h.ID)
	c.text(&h.Name)
	c.text(&h.Zone)
	c.when(&h.CreatedAt)
	list(c, &h.Senders, senderFields)
	c.long(&h.Version)
}

func senderFields(c *coder, s *access.Sender) {
	c.text(&s.Key)
	c.bool(&s.OriginalMode)
	c.bool(&s.ProductionOnly)
}

// InstalledKey is the record of a key that all processes of an installation have.
type InstalledKey struct {
	ID          string
	Fingerprint []byte
	Sealed      []byte
	Version     int64
	ChangedAt   time.Time
}

// InstalledKeys begins the keys of these records. No hospital can have this name.
const InstalledKeys = "*/installed-key/"

func installedKeyFields(c *coder, k *InstalledKey) {
	c.text(&k.ID)
	c.bytes(&k.Fingerprint)
	c.bytes(&k.Sealed)
	c.long(&k.Version)
	c.when(&k.ChangedAt)
}

func userFields(c *coder, u *users.User) {
	c.text(&u.ID)
	c.text(&u.Hospital)
	c.text(&u.Label)
	word(c, &u.Role)
	c.bytes(&u.Subject)
	c.long(&u.Epoch)
	c.bool(&u.Disabled)
	c.when(&u.CreatedAt)
	c.when(&u.Until)
	c.when(&u.SignedInAt)
	c.long(&u.Version)
}

func linkFields(c *coder, l *users.Link) {
	c.fixed(l.Hash[:])
	c.text(&l.Hospital)
	c.text(&l.User)
	c.text(&l.Label)
	word(c, &l.Role)
	c.when(&l.CreatedAt)
	c.when(&l.ExpiresAt)
	c.when(&l.UsedAt)
}

func wallFields(c *coder, w *walls.Wall) {
	c.text(&w.ID)
	c.text(&w.Hospital)
	c.text(&w.Label)
	c.fixed(w.Hash[:])
	c.when(&w.CreatedAt)
}

func layoutFields(c *coder, l *layout.Layout) {
	c.text(&l.Hospital)
	c.int(&l.Columns)
	c.int(&l.Rows)
	list(c, &l.Rooms, func(c *coder, p *layout.Place) {
		c.int(&p.Room)
		c.int(&p.X)
		c.int(&p.Y)
		c.int(&p.W)
		c.int(&p.H)
	})
	list(c, &l.Landmarks, func(c *coder, m *layout.Landmark) {
		c.text(&m.Label)
		c.int(&m.X)
		c.int(&m.Y)
		c.int(&m.W)
		c.int(&m.H)
	})
	c.long(&l.Version)
}
