package pagetest

import (
	"context"
	"time"

	"svc/internal/admin/users"
)

// Links is a fake store of sign-in links. The link with the token "fresh" is valid; the links with the tokens "used"
// and "old" are not.
type Links struct {
	ByToken map[string]users.Link
	Away    error    // error with which every use of a link fails; nil: none
	Out     []string // people whose sessions were ended, as "hospital/user reason"
	Refused []string // reasons for failed sign-ins

	pages *Pages
}

// NewLinks returns links for the charge nurse in north.
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
func (l *Links) UseLink(_ context.Context, token string, _ users.SignIn) (users.Session, error) {
	link, ok := l.ByToken[token]
	switch {
	case l.Away != nil:
		return users.Session{}, l.Away
	case !ok || !link.Valid(Noon):
		return users.Session{}, users.ErrNoLink
	}
	link.UsedAt = Noon
	l.ByToken[token] = link
	return l.pages.Begin(link.User, link.Hospital), nil
}

// EndSessions implements Links of package signin.
func (l *Links) EndSessions(_ context.Context, reason string, all ...users.Session) error {
	if l.Away != nil {
		return l.Away
	}
	for i := range all {
		l.Out = append(l.Out, all[i].Hospital+"/"+all[i].User+" "+reason)
		l.pages.Users.DropSession(all[i].ID)
	}
	return nil
}

// RefuseSignIn implements Links of package signin.
func (l *Links) RefuseSignIn(_ context.Context, subjects [][]byte, reason string) {
	who := "unknown"
	if subjects != nil {
		who = string(subjects[0])
	}
	l.Refused = append(l.Refused, who+" "+reason)
}
