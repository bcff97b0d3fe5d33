package users

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// Config lists the dependencies of the endpoints.
type Config struct {
	Shell  *httpapi.Shell
	Office *Office
	// URL returns the URL that redeems the token of a link.
	URL func(token string) string
}

// MountWrites adds the endpoints that invite and change users.
func MountWrites(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, writes()) }

// MountReads adds the endpoint that lists users.
func MountReads(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, reads()) }

// Operations are the API operations on users.
func Operations() []contract.Operation {
	return append(contract.Operations(writes()), contract.Operations(reads())...)
}

type server struct{ Config }

const (
	maxBody  = 16 << 10 // bytes
	within   = 5 * time.Second
	tryAgain = 2 * time.Second
)

func writes() []contract.Route[*server] {
	return []contract.Route[*server]{{Operation: contract.Operation{
		Method: http.MethodPatch, Path: "/api/admin/users/{id}", Scope: access.Admin, ID: "changeUser", Group: "Administration",
		Summary: "Change a user, or end the user's sessions",
		About: "Omitted fields are unchanged. A new role, disabling a user and ending sessions sign the person out everywhere within " +
			"one second. A request that would change nothing writes nothing, and its response has the warning `unchanged`.",
		Parameters: []contract.Parameter{
			{Name: "id", In: "path", Example: "usr_0123456789abcdef", About: "Id of the user."},
			{Name: "If-Match", In: "header", Example: "*", Pattern: "tag", About: "Entity tag of the user when it was read; if it has " +
				"changed since then, the request fails."},
		},
		Bodies: []contract.Body{{Type: "application/json", Shape: changeShape{}, Limit: maxBody, Examples: []contract.Example{
			{Name: "Sign a person out everywhere", Text: `{"endSessions":true}`},
			{Name: "Disable a user", Text: `{"disabled":true}`},
		}}},
		Data: changedUser{}, Tagged: true, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
	}, Serve: (*server).change}, {Operation: inviteOperation, Serve: (*server).invite}, {
		Operation: withdrawOperation,
		Serve:     (*server).withdraw,
	}}
}

func reads() []contract.Route[*server] {
	return []contract.Route[*server]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/admin/users", Scope: access.Admin, ID: "listUsers", Group: "Administration",
		Summary: "List the users of the hospital",
		About: "Users of the identity provider, users of sign-in links, and unused invitations. A " +
			"user of a sign-in link expires when the longest session of the role would end, and is removed a day later.",
		Data: userList{},
	}, Serve: (*server).list}}
}

type changeShape struct {
	Label       *string `json:"label,omitempty" pattern:"label" maxLength:"100" doc:"Display name of the person."`
	Role        *string `json:"role,omitempty" enum:"viewer,charge,admin" doc:"Role of a user who signs in with a link; the identity provider controls the roles of other users."`
	Disabled    *bool   `json:"disabled,omitempty" doc:"The person is signed out and cannot sign in."`
	EndSessions *bool   `json:"endSessions,omitempty" doc:"The person is signed out everywhere, and may sign in again."`
}

type userRow struct {
	ID         string       `json:"id"`
	Label      string       `json:"label"`
	Role       string       `json:"role"`   // viewer, charge or admin; none: the identity provider no longer assigns a role
	SignIn     string       `json:"signIn"` // link, or provider
	Disabled   bool         `json:"disabled"`
	CreatedAt  httpapi.Time `json:"createdAt"`
	SignedInAt httpapi.Time `json:"signedInAt"` // last sign-in to any hospital
	Until      httpapi.Time `json:"until"`      // null: no end
	Version    int64        `json:"version"`
}

type changedUser struct {
	userRow
	Warnings []httpapi.Warning `json:"warnings"`
}

type userList struct {
	Users       []userRow       `json:"users"`
	Invitations []invitationRow `json:"invitations"` // unused valid links, oldest first
}

func (s *server) rowOf(u *User) userRow {
	row := userRow{
		ID: u.ID, Label: u.Label, Role: cmp.Or(string(u.Role), "none"), SignIn: "link", Disabled: u.Disabled,
		CreatedAt:  httpapi.Time(u.CreatedAt),
		SignedInAt: httpapi.Time(s.Office.Register.LastSignIn(u.ID)), Until: httpapi.Time(u.Until), Version: u.Version,
	}
	if u.Subject != nil {
		row.SignIn = "provider"
	}
	return row
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	hospital, list := httpapi.Caller(r.Context()).Hospital, userList{Users: []userRow{}, Invitations: []invitationRow{}}
	for _, u := range s.Office.Register.Users(hospital) {
		list.Users = append(list.Users, s.rowOf(&u))
	}
	for _, l := range s.Office.Invitations(hospital) {
		list.Invitations = append(list.Invitations, newInvitationRow(&l))
	}
	httpapi.OK(w, r, list)
}

// change returns the change in a request body.
func (in *changeShape) change() (c Change) {
	if in.Label != nil {
		label := strings.TrimSpace(*in.Label)
		c.Label = &label
	}
	if in.Role != nil {
		role := Role(*in.Role)
		c.Role = &role
	}
	c.Disabled = in.Disabled
	c.EndSessions = in.EndSessions != nil && *in.EndSessions
	return c
}

func (s *server) change(w http.ResponseWriter, r *http.Request) {
	var in changeShape
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	c := in.change()
	if broken := httpapi.Check(&in); len(broken) > 0 {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid, Details: broken})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	by := httpapi.Caller(r.Context()).ID
	err := audit.Retry(ctx, func() error {
		seen := s.Office.Seen()
		user, ok := s.find(w, r)
		if !ok {
			return nil
		}
		changed, err := s.Office.Change(ctx, by, seen, user, c)
		if err == nil {
			if changed.Version == user.Version {
				warnings = append(warnings, httpapi.Warning{Code: "unchanged"})
			}
			httpapi.OKVersion(w, r, strconv.FormatInt(changed.Version, 10), changedUser{s.rowOf(&changed), warnings})
		}
		return err
	})
	if errors.Is(err, ErrRole) {
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: problem.Unprocessable, Message: "The identity provider controls the role of this user; change it there.",
			Details: []httpapi.Detail{{Path: "role", Rule: "provider"}},
		})
	} else if err != nil {
		s.Shell.Log.WarnContext(r.Context(), "user not written", "error", err)
		failUnavailable(w, r)
	}
}

// failUnavailable responds that a change could not be written.
func failUnavailable(w http.ResponseWriter, r *http.Request) {
	httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: tryAgain})
}

// find returns the user in the path. The user must belong to the caller's hospital and have the version that the caller
// expects. If find returns false, it has sent an error response.
func (s *server) find(w http.ResponseWriter, r *http.Request) (User, bool) {
	user, known := s.Office.Register.User(httpapi.Caller(r.Context()).Hospital, httpapi.PathValue(r, "id"))
	if !known {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return user, false
	}
	if !httpapi.MatchVersion(w, r, strconv.FormatInt(user.Version, 10)) {
		return user, false
	}
	return user, true
}
