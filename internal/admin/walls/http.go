package walls

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// Config lists the dependencies of the endpoints.
type Config struct {
	Shell  *httpapi.Shell
	Office *Office
	// URL returns the URL that redeems a token.
	URL func(token string) string
}

// MountWrites adds the endpoints that change walls.
func MountWrites(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, writes()) }

// MountReads adds the endpoint that lists walls.
func MountReads(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, reads()) }

// Operations are the API operations on walls.
func Operations() []contract.Operation {
	return append(contract.Operations(writes()), contract.Operations(reads())...)
}

type server struct{ Config }

const (
	group    = "Administration"
	maxBody  = 16 << 10 // bytes
	within   = 5 * time.Second
	tryAgain = 2 * time.Second
)

func writes() []contract.Route[*server] {
	return []contract.Route[*server]{
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/walls", Scope: access.Admin, ID: "makeWall", Group: group,
			Summary: "Add a wall display", About: "The response contains the link, which is not stored and cannot be shown again. " +
				"The link works once and expires after 24 hours. The screen that opens it shows the board of the hospital, and nothing else, " +
				"until the wall display is revoked.",
			Bodies: []contract.Body{{Type: "application/json", Shape: makeShape{}, Limit: maxBody, Examples: []contract.Example{
				{Name: "A screen at a desk", Text: `{"label":"nurses' station"}`},
			}}},
			Data: addedWall{}, Refuses: []problem.Kind{problem.Unprocessable}, Limits: map[string]int64{"wallDisplays": Most},
		}, Serve: (*server).make},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/walls/{id}", Scope: access.Admin, ID: "revokeWall", Group: group,
			Summary: "Revoke a wall display", About: "Takes effect everywhere within one second.",
			Parameters: []contract.Parameter{{Name: "id", In: "path", Example: "wall_0123456789abcdef", About: "Id of the wall display."}},
			Data:       wallRow{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*server).revoke},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/walls/{id}/link", Scope: access.Admin, ID: "relinkWall", Group: group,
			Summary:    "Create another link for a wall display",
			About:      "For a screen that was replaced or lost its cookie. The previous screen is signed out within one second.",
			Parameters: []contract.Parameter{{Name: "id", In: "path", Example: "wall_0123456789abcdef", About: "Id of the wall display."}},
			Data:       madeWall{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*server).relink},
	}
}

func reads() []contract.Route[*server] {
	return []contract.Route[*server]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/admin/walls", Scope: access.Admin, ID: "listWalls", Group: group,
		Summary: "List the wall displays of the hospital, oldest first", Data: wallList{},
	}, Serve: (*server).list}}
}

type makeShape struct {
	Label string `json:"label" pattern:"label" maxLength:"100" doc:"Label of the screen."`
}

type wallRow struct {
	ID        string       `json:"id"`
	Label     string       `json:"label"`
	CreatedAt httpapi.Time `json:"createdAt"`
	UsedAt    httpapi.Time `json:"usedAt"` // when the screen used its link; null: not yet
}

type madeWall struct {
	wallRow
	URL string `json:"url"` // shown once
}

type addedWall struct {
	madeWall
	Warnings []httpapi.Warning `json:"warnings"`
}

type wallList struct {
	Walls []wallRow `json:"walls"`
}

func rowOf(w *Wall) wallRow {
	return wallRow{w.ID, w.Label, httpapi.Time(w.CreatedAt), httpapi.Time(w.UsedAt)}
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	list := wallList{Walls: []wallRow{}}
	for _, wall := range s.Office.Register.Walls(httpapi.Caller(r.Context()).Hospital) {
		list.Walls = append(list.Walls, rowOf(&wall))
	}
	httpapi.OK(w, r, list)
}

func (s *server) make(w http.ResponseWriter, r *http.Request) {
	var in makeShape
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	if broken := httpapi.Check(&in); len(broken) > 0 {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid, Details: broken})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	caller := httpapi.Caller(r.Context())
	wall, token, err := s.Office.Make(ctx, caller.ID, caller.Hospital, strings.TrimSpace(in.Label))
	switch {
	case errors.Is(err, ErrTooMany):
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: problem.Unprocessable, Message: "The hospital has reached the limit of 50 wall displays; revoke one.",
			Details: []httpapi.Detail{{Path: "", Rule: "maxWalls:" + strconv.Itoa(Most)}},
		})
	case err != nil:
		s.fail(w, r, err)
	default:
		httpapi.OK(w, r, addedWall{madeWall{rowOf(&wall), s.URL(token)}, warnings})
	}
}

func (s *server) relink(w http.ResponseWriter, r *http.Request) {
	caller := httpapi.Caller(r.Context())
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	wall, token, err := s.Office.Relink(ctx, caller.ID, caller.Hospital, httpapi.PathValue(r, "id"))
	switch {
	case errors.Is(err, ErrNone):
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
	case err != nil:
		s.fail(w, r, err)
	default:
		httpapi.OK(w, r, madeWall{rowOf(&wall), s.URL(token)})
	}
}

func (s *server) revoke(w http.ResponseWriter, r *http.Request) {
	caller := httpapi.Caller(r.Context())
	wall, known := s.Office.Register.Wall(httpapi.PathValue(r, "id"))
	if !known || wall.Hospital != caller.Hospital {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	if err := s.Office.Revoke(ctx, caller.ID, wall); err != nil {
		s.fail(w, r, err)
		return
	}
	httpapi.OK(w, r, rowOf(&wall))
}

func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.Shell.Log.WarnContext(r.Context(), "wall not written", "error", err)
	httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: tryAgain})
}
