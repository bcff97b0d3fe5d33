package users

import (
	"context"
	"errors"
	"strconv"

	"svc/internal/admin/audit"
)

// ActChange is the action of a change of a user in the audit log.
const ActChange = "user.change"

// ErrRole says that the identity provider decides about the role of a user.
var ErrRole = errors.New("the identity provider decides about the role")

// Change is what an administrator changes of a user; nil: it stays.
type Change struct {
	Label       *string
	Role        *Role
	Disabled    *bool
	EndSessions bool
}

// Change changes a user. The caller has called Seen before it looked the user up.
func (o *Office) Change(ctx context.Context, by string, seen int64, u User, c Change) (User, error) {
	before := u.Version
	if c.Role != nil && *c.Role != u.Role {
		if u.Subject != nil {
			return u, ErrRole
		}
		u.Role = *c.Role
	}
	if c.Label != nil {
		u.Label = *c.Label
	}
	if c.EndSessions || c.Disabled != nil && *c.Disabled && !u.Disabled {
		u.Epoch++
	}
	if c.Disabled != nil {
		u.Disabled = *c.Disabled
	}
	u.Version++
	act := audit.Act{
		Hospital: u.Hospital, At: cut(o.Now()), By: by, Action: ActChange, Subject: u.ID,
		Before: strconv.FormatInt(before, 10), After: strconv.FormatInt(u.Version, 10),
	}
	return u, o.do(ctx, seen, Changes{Users: []*User{&u}}, act)
}
