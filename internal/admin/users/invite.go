package users

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
)

// MostLinks is how many links a hospital may have made by the API within a day of their end.
// The log keeps that many, so it is bounded whatever a program with a key does.
const MostLinks = 200

// ErrTooMany says that a hospital has made the greatest allowed number of links.
var ErrTooMany = errors.New("the hospital has made 200 links within a day, and no more may be made until the first of them is a day old")

// lifetimes are how long a link of the API may be used.
var lifetimes = map[string]time.Duration{"15m": 15 * time.Minute, "1h": time.Hour, "24h": 24 * time.Hour}

// Lifetimes returns the words for how long a link of the API may be used, the shortest first.
func Lifetimes() []string { return []string{"15m", "1h", "24h"} }

var inviteOperation = contract.Operation{
	Method: http.MethodPost, Path: "/api/admin/users", Scope: access.Admin, ID: "inviteUser", Group: "Administration",
	Summary: "Invite a person by a link that signs in once",
	About:   "The link is in the answer and nowhere else: it is not kept. Whoever opens it first is signed in, and is a user of the hospital from then on, until the longest session of the role ends.",
	Bodies: []contract.Body{{Type: "application/json", Shape: inviteShape{}, Limit: maxBody, Examples: []contract.Example{
		{Name: "A charge nurse", Text: `{"label":"night desk","role":"charge","ttl":"1h"}`},
	}}},
	Data: invitedUser{}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
}

type inviteShape struct {
	Label string `json:"label" pattern:"label" maxLength:"100" doc:"What to call the person."`
	Role  string `json:"role" enum:"viewer,charge,admin" doc:"What the person may do."`
	TTL   string `json:"ttl,omitempty" enum:"15m,1h,24h" doc:"How long the link may be used. Default 15m."`
}

type invitedUser struct {
	ID        string       `json:"id"` // of the user, once the link is used
	Label     string       `json:"label"`
	Role      string       `json:"role"` // viewer, charge or admin
	ExpiresAt httpapi.Time `json:"expiresAt"`
	URL       string       `json:"url"` // shown once
}

func (s *server) invite(w http.ResponseWriter, r *http.Request) {
	var in inviteShape
	if _, ok := httpapi.ReadJSON(w, r, maxBody, &in); !ok {
		return
	}
	if in.Label = strings.TrimSpace(in.Label); in.TTL == "" {
		in.TTL = Lifetimes()[0]
	}
	if broken := httpapi.Check(&in); len(broken) > 0 {
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Invalid, Details: broken})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	caller := httpapi.Caller(r.Context())
	link, token, err := s.Office.Invite(ctx, caller.ID, caller.Hospital, in.Label, Role(in.Role), lifetimes[in.TTL])
	switch {
	case errors.Is(err, ErrTooMany):
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: httpapi.Unprocessable, Message: "The hospital has made as many links as it may in a day; try again later.",
			Details: []httpapi.Detail{{Path: "", Rule: "maxLinks:" + strconv.Itoa(MostLinks)}},
		})
	case err != nil:
		s.Shell.Log.WarnContext(r.Context(), "link not written", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: tryAgain})
	default:
		httpapi.OK(w, r, invitedUser{link.User, link.Label, string(link.Role), httpapi.Time(link.ExpiresAt), s.URL(token)})
	}
}

// Invite is [Office.MakeLink] for those who ask over HTTP: their number of links is bounded.
// It fails with [ErrTooMany] beyond [MostLinks].
func (o *Office) Invite(ctx context.Context, by, hospital, label string, role Role, ttl time.Duration) (Link, string, error) {
	n, now := 0, o.Now()
	for _, l := range o.Register.Links(hospital) {
		if now.Sub(l.ExpiresAt) <= linkKept {
			n++
		}
	}
	if n >= MostLinks {
		return Link{}, "", ErrTooMany
	}
	return o.MakeLink(ctx, by, hospital, label, role, ttl)
}
