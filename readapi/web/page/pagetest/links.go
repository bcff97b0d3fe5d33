package pagetest

import (
	"context"
	"time"

	"svc/internal/admin/users"
)

// Links signs people in by the words that are its keys: fresh works, used and old do not.
type Links struct {
	ByToken map[string]users.Link
	Away    error    // why no link can be used now; nil: links can be used
	Out     []string // who signed out, as "hospital/user"

	pages *Pages
}

// NewLinks returns links for the charge nurse of north.
func (p *Pages) NewLinks() *Links {
	return &Links{pages: p, ByToken: map[string]users.Link{
		"fresh": {Hospital: "north", User: "usr_charge", Role: users.Charge, ExpiresAt: Noon.Add(time.Hour)},
		"used":  {Hospital: "north", User: "usr_charge", Role: users.Charge, ExpiresAt: Noon.Add(time.Hour), UsedAt: Noon},
		"old":   {Hospital: "north", User: "usr_charge", Role: users.Charge, ExpiresAt: Noon},
	}}
}

// FindLink implements Links of package signin.
func (l *Links) FindLink(token string) (users.Link, bool) {
	link, ok := l.ByToken[token]
	return link, ok
}

// UseLink implements Links of package signin.
func (l *Links) UseLink(_ context.Context, token string) (users.User, error) {
	link, ok := l.ByToken[token]
	switch {
	case l.Away != nil:
		return users.User{}, l.Away
	case !ok || !link.Valid(Noon):
		return users.User{}, users.ErrNoLink
	}
	link.UsedAt = Noon
	l.ByToken[token] = link
	u, _ := l.pages.Users.User(link.Hospital, link.User)
	return u, nil
}

// SignOut implements Links of package signin.
func (l *Links) SignOut(_ context.Context, hospital, user string) error {
	l.Out = append(l.Out, hospital+"/"+user)
	return nil
}
