package users

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
)

// ActWithdraw is the action in the audit log when an administrator withdraws a link.
const ActWithdraw = "link.withdraw"

// Invitations returns the links of a hospital that may still be used, oldest first.
func (o *Office) Invitations(hospital string) []Link {
	now := o.Now()
	all := slices.DeleteFunc(o.Register.Links(hospital), func(l Link) bool { return !l.Valid(now) })
	slices.SortFunc(all, func(a, b Link) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.User, b.User)) })
	return all
}

// Withdraw ends the link of a person whom somebody has invited, and returns it. If somebody uses
// the link at once, one of the two succeeds. The errors are [ErrNoLink] and the errors of Put.
func (o *Office) Withdraw(ctx context.Context, by, hospital, user string) (Link, error) {
	for {
		seen := o.Seen()
		all := o.Invitations(hospital)
		i := slices.IndexFunc(all, func(l Link) bool { return l.User == user })
		if i < 0 {
			return Link{}, ErrNoLink
		}
		// The link stays on record as an ended one, so it still counts for [MostLinks].
		ended, now := all[i], cut(o.Now())
		ended.ExpiresAt = now
		act := audit.Act{Hospital: hospital, At: now, By: by, Action: ActWithdraw, Subject: user, Before: ended.ID()[:16]}
		err := o.do(ctx, seen, Changes{Links: []*Link{&ended}}, act)
		if err == nil || !errors.Is(err, access.ErrOvertaken) || ctx.Err() != nil {
			return all[i], err
		}
	}
}

var withdrawOperation = contract.Operation{
	Method: http.MethodDelete, Path: "/api/admin/users/invitations/{id}", Scope: access.Admin, ID: "withdrawInvitation", Group: "Administration",
	Summary: "Withdraw an invitation that nobody has used", About: "Its link signs nobody in any more, everywhere within a second. An invitation that was used or has expired is not found.",
	Parameters: []contract.Parameter{{Name: "id", In: "path", Example: "usr_0123456789abcdef", About: "Of the person who is invited."}},
	Data:       invitationRow{}, Refuses: []httpapi.Kind{httpapi.Missing},
}

type invitationRow struct {
	ID        string       `json:"id"` // of the user, once the link is used
	Label     string       `json:"label"`
	Role      string       `json:"role"` // viewer, charge or admin
	CreatedAt httpapi.Time `json:"createdAt"`
	ExpiresAt httpapi.Time `json:"expiresAt"`
}

func newInvitationRow(l *Link) invitationRow {
	return invitationRow{l.User, l.Label, string(l.Role), httpapi.Time(l.CreatedAt), httpapi.Time(l.ExpiresAt)}
}

func (s *server) withdraw(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	caller := httpapi.Caller(r.Context())
	link, err := s.Office.Withdraw(ctx, caller.ID, caller.Hospital, httpapi.PathValue(r, "id"))
	switch {
	case errors.Is(err, ErrNoLink):
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Missing})
	case err != nil:
		s.Shell.Log.WarnContext(r.Context(), "link not written", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: tryAgain})
	default:
		httpapi.OK(w, r, newInvitationRow(&link))
	}
}
