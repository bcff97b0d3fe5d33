// Package administration is the records that administrators cause: settings, people, acts.
package administration

import (
	"time"

	"svc/internal/admin/layout"
	"svc/internal/admin/users"
	"svc/internal/admin/walls"
	"svc/internal/httpapi/access"
	"svc/schemas"
)

// The codecs of keys, hospitals, people, links, walls and layouts.
var (
	KeyCodec          = schemas.NewCodec("key", keyFields)
	HospitalCodec     = schemas.NewCodec("hospital", hospitalFields)
	InstalledKeyCodec = schemas.NewCodec("installed-key", installedKeyFields)
	UserCodec         = schemas.NewCodec("user", userFields)
	LinkCodec         = schemas.NewCodec("link", linkFields)
	WallCodec         = schemas.NewCodec("wall", wallFields)
	LayoutCodec       = schemas.NewCodec("layout", layoutFields)
)

func keyFields(c *schemas.Coder, k *access.Key) {
	c.Text(&k.ID)
	c.Text(&k.Hospital)
	c.Text(&k.Name)
	c.Fixed(k.Hash[:])
	schemas.List(c, &k.Scopes, schemas.Word[access.Scope])
	c.When(&k.CreatedAt)
	c.When(&k.ExpiresAt)
	c.When(&k.RevokedAt)
	c.Double(&k.Rate)
	c.Number(&k.Burst)
	c.Text(&k.Source)
	c.Text(&k.Prefix)
}

func hospitalFields(c *schemas.Coder, h *access.Hospital) {
	c.Text(&h.ID)
	c.Text(&h.Name)
	c.Text(&h.Zone)
	c.When(&h.CreatedAt)
	schemas.List(c, &h.Senders, senderFields)
	c.Long(&h.Version)
}

func senderFields(c *schemas.Coder, s *access.Sender) {
	c.Text(&s.Key)
	c.Bool(&s.OriginalMode)
	c.Bool(&s.ProductionOnly)
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

func installedKeyFields(c *schemas.Coder, k *InstalledKey) {
	c.Text(&k.ID)
	c.Bytes(&k.Fingerprint)
	c.Bytes(&k.Sealed)
	c.Long(&k.Version)
	c.When(&k.ChangedAt)
}

func userFields(c *schemas.Coder, u *users.User) {
	c.Text(&u.ID)
	c.Text(&u.Hospital)
	c.Text(&u.Label)
	schemas.Word(c, &u.Role)
	c.Bytes(&u.Subject)
	c.Long(&u.Epoch)
	c.Bool(&u.Disabled)
	c.When(&u.CreatedAt)
	c.When(&u.Until)
	c.When(&u.SignedInAt)
	c.Long(&u.Version)
}

func linkFields(c *schemas.Coder, l *users.Link) {
	c.Fixed(l.Hash[:])
	c.Text(&l.Hospital)
	c.Text(&l.User)
	c.Text(&l.Label)
	schemas.Word(c, &l.Role)
	c.When(&l.CreatedAt)
	c.When(&l.ExpiresAt)
	c.When(&l.UsedAt)
}

func wallFields(c *schemas.Coder, w *walls.Wall) {
	c.Text(&w.ID)
	c.Text(&w.Hospital)
	c.Text(&w.Label)
	c.Fixed(w.Hash[:])
	c.When(&w.CreatedAt)
}

func layoutFields(c *schemas.Coder, l *layout.Layout) {
	c.Text(&l.Hospital)
	c.Int(&l.Columns)
	c.Int(&l.Rows)
	schemas.List(c, &l.Rooms, func(c *schemas.Coder, p *layout.Place) {
		c.Int(&p.Room)
		c.Int(&p.X)
		c.Int(&p.Y)
		c.Int(&p.W)
		c.Int(&p.H)
	})
	schemas.List(c, &l.Landmarks, func(c *schemas.Coder, m *layout.Landmark) {
		c.Text(&m.Label)
		c.Int(&m.X)
		c.Int(&m.Y)
		c.Int(&m.W)
		c.Int(&m.H)
	})
	c.Long(&l.Version)
}
