package administration

import (
	"svc/internal/admin/audit"
	"svc/schemas"
)

// ActCodec is of the acts of administrators.
var ActCodec = schemas.NewCodec("audit", auditFields)

func auditFields(c *schemas.Coder, a *audit.Act) {
	c.Text(&a.Hospital)
	c.When(&a.At)
	c.Text(&a.By)
	c.Text(&a.Action)
	c.Text(&a.Subject)
	c.Text(&a.Before)
	c.Text(&a.After)
}
