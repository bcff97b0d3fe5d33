package users

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// MostLinks is the maximum number of links of a hospital, counting those that are valid or ended less than a day ago.
// It limits the size of the settings topic, even if a program with a key keeps creating links.
const MostLinks = 200

// ErrTooMany means that a hospital has created the maximum number of links.
var ErrTooMany = errors.New("the hospital has reached the limit of 200 links in 24 hours; try again later")

// lifetimes are the possible lifetimes of a link that is created through the API.
var lifetimes = map[string]time.Duration{"15m": 15 * time.Minute, "1h": time.Hour, "24h": 24 * time.Hour}

// Lifetimes returns the names of the possible lifetimes of a link that is created through the API, shortest first.
func Lifetimes() []string { return []string{"15m", "1h", "24h"} }

var inviteOperation = contract.Operation{
	Method: http.MethodPost, Path: "/api/admin/users", Scope: access.Admin, ID: "inviteUser", Group: "Administration",
	Summary: "Invite a person with a single-use sign-in link",
	About: "The response contains the link, which is not stored and cannot be shown again. The first person who opens it is signed in, " +
		"and is a user of the hospital until the longest session of the role would end.",
	Bodies: []contract.Body{{Type: "application/json", Shape: inviteShape{}, Limit: maxBody, Examples: []contract.Example{
		{Name: "A charge nurse", Text: `{"label":"night desk","role":"charge","ttl":"1h"}`},
	}}},
	Data: invitedUser{}, Refuses: []problem.Kind{problem.Unprocessable}, Limits: map[string]int64{"invitations": MostLinks},
}

type inviteShape struct {
	Label string `json:"label" pattern:"label" maxLength:"100" doc:"Display name of the person."`
	Role  string `json:"role" enum:"viewer,charge,admin" doc:"Role of the person."`
	TTL   string `json:"ttl,omitempty" enum:"15m,1h,24h" doc:"Lifetime of the link. Default 15m."`
}

type invitedUser struct {
	ID        string       `json:"id"` // id of the future user
	Label     string       `json:"label"`
	Role      string       `json:"role"` // viewer, charge or admin
	ExpiresAt httpapi.Time `json:"expiresAt"`
	URL       string       `json:"url"` // shown once

	Warnings []httpapi.Warning `json:"warnings"`
}

func (s *server) invite(w http.ResponseWriter, r *http.Request) {
	var in inviteShape
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	if in.TTL == "" {
		in.TTL = Lifetimes()[0]
	}
	if broken := httpapi.Check(&in); len(broken) > 0 {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid, Details: broken})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	caller := httpapi.Caller(r.Context())
	link, token, err := s.Office.Invite(ctx, caller.ID, caller.Hospital, strings.TrimSpace(in.Label), Role(in.Role), lifetimes[in.TTL])
	switch {
	case errors.Is(err, ErrTooMany):
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: problem.Unprocessable, Message: "The hospital has reached the limit of 200 links in 24 hours; try again later.",
			Details: []httpapi.Detail{{Path: "", Rule: "maxLinks:" + strconv.Itoa(MostLinks)}},
		})
	case err != nil:
		s.Shell.Log.WarnContext(r.Context(), "link not written", "error", err)
		failUnavailable(w, r)
	default:
		httpapi.OK(w, r, invitedUser{link.User, link.Label, string(link.Role), httpapi.Time(link.ExpiresAt), s.URL(token), warnings})
	}
}

// Invite does the work of [Office.MakeLink] for requests over HTTP. It returns [ErrTooMany] if the hospital has
// [MostLinks] links. The write fails if anything has changed since the links were counted, so the limit applies across
// instances.
func (o *Office) Invite(ctx context.Context, by, hospital, label string, role Role, ttl time.Duration) (l Link, token string, err error) {
	err = o.turns.Do(ctx, hospital, func() (err error) {
		seen, n, now := o.Seen(), 0, o.Now()
		for _, l := range o.Register.Links(hospital) {
			if now.Sub(l.ExpiresAt) <= linkKept {
				n++
			}
		}
		if n >= MostLinks {
			return ErrTooMany
		}
		l, token, err = o.makeLink(ctx, seen, by, hospital, label, role, ttl)
		return err
	})
	if err != nil {
		return Link{}, "", err
	}
	return l, token, nil
}

// ActWithdraw is the action in the audit log when an administrator withdraws a link.
const ActWithdraw = "link.withdraw"

// Invitations returns the links of a hospital that may still be used, oldest first.
func (o *Office) Invitations(hospital string) []Link {
	now := o.Now()
	all := slices.DeleteFunc(o.Register.Links(hospital), func(l Link) bool { return !l.Valid(now) })
	slices.SortFunc(all, func(a, b Link) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.User, b.User)) })
	return all
}

// Withdraw ends the link of an invited person, and returns the link. If the person uses the link at the same time,
// either the use or the withdrawal succeeds, but not both. Withdraw returns [ErrNoLink] if the hospital has no valid
// link for the person.
func (o *Office) Withdraw(ctx context.Context, by, hospital, user string) (link Link, err error) {
	err = audit.Retry(ctx, func() error {
		seen, now := o.Seen(), cut(o.Now())
		all := o.Invitations(hospital)
		i := slices.IndexFunc(all, func(l Link) bool { return l.User == user })
		if i < 0 {
			return ErrNoLink
		}
		link = all[i]
		// The link remains stored as ended, so that it still counts toward [MostLinks].
		ended := link
		ended.ExpiresAt = now
		act := audit.Act{Hospital: hospital, At: now, By: by, Action: ActWithdraw, Subject: user, Before: ended.ID()[:16]}
		return o.do(ctx, seen, Changes{Links: []*Link{&ended}}, act)
	})
	return link, err
}

var withdrawOperation = contract.Operation{
	Method: http.MethodDelete, Path: "/api/admin/users/invitations/{id}", Scope: access.Admin, ID: "withdrawInvitation",
	Group:   "Administration",
	Summary: "Withdraw an unused invitation", About: "The link becomes invalid everywhere within one " +
		"second. If the invitation was used or has expired, the response is 404.",
	Parameters: []contract.Parameter{{Name: "id", In: "path", Example: "usr_0123456789abcdef", About: "Id of the invited user."}},
	Data:       invitationRow{}, Refuses: []problem.Kind{problem.Missing},
}

type invitationRow struct {
	ID        string       `json:"id"` // id of the future user
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
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
	case err != nil:
		s.Shell.Log.WarnContext(r.Context(), "link not written", "error", err)
		failUnavailable(w, r)
	default:
		httpapi.OK(w, r, newInvitationRow(&link))
	}
}
