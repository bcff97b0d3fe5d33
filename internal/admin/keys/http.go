package keys

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
	Shell *httpapi.Shell
	Ring  *Ring
	// Used returns when each key was last used, if that is known.
	Used func(ctx context.Context, ids []string) (map[string]time.Time, error)
}

// MountWrites adds the endpoints that change keys.
func MountWrites(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, writes()) }

// MountReads adds the endpoints that list keys.
func MountReads(r chi.Router, c Config) { contract.Mount(r, c.Shell, &server{c}, reads()) }

// Operations are the API operations on keys.
func Operations() []contract.Operation {
	return append(contract.Operations(writes()), contract.Operations(reads())...)
}

type server struct{ Config }

const (
	group    = "Administration"
	maxBody  = 64 << 10 // bytes
	within   = 5 * time.Second
	tryAgain = 2 * time.Second
)

func writes() []contract.Route[*server] {
	ifMatch := contract.Parameter{
		Name: "If-Match", In: "header", Example: "*", Pattern: "tag",
		About: "Entity tag of the key when it was read; if the key has changed since then, the request fails.",
	}
	id := contract.Parameter{Name: "id", In: "path", Example: "key_0123456789abcdef", About: "Id of the key."}
	return []contract.Route[*server]{
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/keys", Scope: access.Admin, ID: "mintKey", Group: group,
			Summary: "Make a key", About: "The response contains the key, which is not stored and cannot be shown again.",
			Bodies: []contract.Body{{Type: "application/json", Shape: mintShape{}, Limit: maxBody, Examples: []contract.Example{
				{Name: "For one feed", Text: `{"name":"Epic ADT","scopes":["ingest:hl7"],"rate":50,"burst":200}`},
			}}},
			Data: mintedKey{}, Tagged: true, Refuses: []problem.Kind{problem.Unprocessable}, Limits: map[string]int64{"keys": Most},
		}, Serve: (*server).mint},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/keys/{id}/rotate", Scope: access.Admin, ID: "rotateKey", Group: group,
			Summary: "Rotate a key", About: "The old key stays valid for the overlap.",
			Parameters: []contract.Parameter{id, ifMatch},
			Bodies: []contract.Body{{Type: "application/json", Shape: rotateShape{}, Optional: true, Limit: maxBody, Examples: []contract.Example{
				{Name: "One day of overlap", Text: `{"overlap":"24h"}`},
			}}},
			Data: mintedKey{}, Tagged: true, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
		}, Serve: (*server).rotate},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/keys/{id}", Scope: access.Admin, ID: "revokeKey", Group: group,
			Summary: "Revoke a key", About: "Takes effect everywhere within one second. A key that has already ended is unchanged.",
			Parameters: []contract.Parameter{id, ifMatch},
			Data:       keyRow{}, Tagged: true, Refuses: []problem.Kind{problem.Missing, problem.Precondition},
		}, Serve: (*server).revoke},
	}
}

func reads() []contract.Route[*server] {
	return []contract.Route[*server]{
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/keys", Scope: access.Admin, ID: "listKeys", Group: group,
			Summary: "List the keys of the hospital, oldest first", Data: keyList{},
		}, Serve: (*server).list},
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/keys/{id}", Scope: access.Admin, ID: "getKey", Group: group,
			Summary:    "Get one key",
			Parameters: []contract.Parameter{{Name: "id", In: "path", Example: "key_0123456789abcdef", About: "Id of the key."}},
			Data:       keyRow{}, Tagged: true, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*server).get},
	}
}

type mintShape struct {
	Name      string   `json:"name" pattern:"label" maxLength:"100" doc:"Name of the integration."`
	Scopes    []string `json:"scopes" minItems:"1" enum:"ingest:adt,ingest:batch,ingest:census,ingest:clinical,ingest:fhir,ingest:hl7,ingest:roster,ingest:staffing,read:predict,read:status,read:unit-state,admin,all" doc:"Scopes of the key; all: every scope except admin."`
	ExpiresAt *string  `json:"expiresAt,omitempty" format:"date-time" doc:"Default: the key never expires."`
	Rate      *float64 `json:"rate,omitempty" minimum:"0.01" maximum:"100000" doc:"Requests per second. Default 50. Only the command line can create a key without a limit."`
	Burst     int      `json:"burst,omitempty" minimum:"0" maximum:"1000000" doc:"Requests that may be sent at once. Default: four times the rate."`
}

type rotateShape struct {
	Overlap string `json:"overlap,omitempty" enum:"0,1h,24h,7d" doc:"How long the old key stays valid. Default 24h."`
}

type keyRow struct {
	ID         string       `json:"id"`
	Prefix     string       `json:"prefix"` // first 8 characters of the token; "": unknown
	Name       string       `json:"name"`
	Status     string       `json:"status"` // active, revoked or expired
	Scopes     []string     `json:"scopes"`
	CreatedAt  httpapi.Time `json:"createdAt"`
	ExpiresAt  httpapi.Time `json:"expiresAt"`
	RevokedAt  httpapi.Time `json:"revokedAt"`
	Rate       float64      `json:"rate"` // requests per second; 0: no limit
	Burst      int          `json:"burst"`
	LastUsedAt httpapi.Time `json:"lastUsedAt"` // to the minute; null: unknown
	Version    string       `json:"version"`    // also the entity tag
}

type mintedKey struct {
	keyRow
	Key      string            `json:"key"` // shown once
	Warnings []httpapi.Warning `json:"warnings"`
}

type keyList struct {
	Keys []keyRow `json:"keys"`
}

func (s *server) row(k *access.Key, used map[string]time.Time) keyRow {
	row := keyRow{
		ID: k.ID, Prefix: k.Prefix, Name: k.Name, Status: Status(k, s.Shell.Now()), Scopes: []string{}, CreatedAt: httpapi.Time(k.CreatedAt),
		ExpiresAt: httpapi.Time(k.ExpiresAt), RevokedAt: httpapi.Time(k.RevokedAt), Rate: k.Rate, Burst: k.Burst,
		LastUsedAt: httpapi.Time(used[k.ID]), Version: Version(k),
	}
	for _, scope := range k.Scopes {
		row.Scopes = append(row.Scopes, string(scope))
	}
	return row
}

func (s *server) minted(k *access.Key, token string, warnings []httpapi.Warning) mintedKey {
	return mintedKey{s.row(k, nil), token, warnings}
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	all := s.Ring.Register.Keys(httpapi.Caller(r.Context()).Hospital)
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	used := s.used(r, ids)
	list := keyList{Keys: make([]keyRow, len(all))}
	for i := range all {
		list.Keys[i] = s.row(&all[i], used)
	}
	httpapi.OK(w, r, list)
}

func (s *server) used(r *http.Request, ids []string) map[string]time.Time {
	if s.Used == nil {
		return nil
	}
	used, err := s.Used(r.Context(), ids)
	if err != nil { // the list is useful even without the times of last use
		s.Shell.Log.WarnContext(r.Context(), "last use of keys not read", "error", err)
	}
	return used
}

func (s *server) get(w http.ResponseWriter, r *http.Request) {
	if key, ok := s.find(w, r); ok {
		httpapi.OKVersion(w, r, Version(&key), s.row(&key, s.used(r, []string{key.ID})))
	}
}

func (s *server) mint(w http.ResponseWriter, r *http.Request) {
	var in mintShape
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	hospital := httpapi.Caller(r.Context()).Hospital
	template, broken := in.template(hospital, s.Ring.Register.Zone(hospital))
	switch {
	case len(broken) > 0:
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid, Details: broken})
		return
	case in.ExpiresAt != nil && !template.ExpiresAt.After(s.Shell.Now()):
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: problem.Unprocessable, Message: "The key would already have expired; choose a later expiresAt.",
			Details: []httpapi.Detail{{Path: "expiresAt", Rule: "future"}},
		})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	key, token, err := s.Ring.Mint(ctx, httpapi.Caller(r.Context()).ID, template)
	if errors.Is(err, ErrTooMany) {
		httpapi.Fail(w, r, tooMany)
		return
	}
	if s.failed(w, r, err) {
		return
	}
	httpapi.OKVersion(w, r, Version(&key), s.minted(&key, token, warnings))
}

var tooMany = httpapi.Problem{
	Kind: problem.Unprocessable, Message: "The hospital has reached the limit of 200 valid keys; revoke one.",
	Details: []httpapi.Detail{{Path: "", Rule: "maxKeys:" + strconv.Itoa(Most)}},
}

// template returns the requested key, and the rules that the body breaks.
func (in *mintShape) template(hospital string, zone *time.Location) (key access.Key, broken []httpapi.Detail) {
	broken = httpapi.Check(in)
	key = access.Key{Hospital: hospital, Name: strings.TrimSpace(in.Name)}
	rate := float64(access.DefaultRate)
	if in.Rate != nil {
		rate = *in.Rate
	}
	if in.ExpiresAt != nil {
		var ok bool
		if key.ExpiresAt, ok = httpapi.ParseTime(*in.ExpiresAt, zone); !ok {
			broken = append(broken, httpapi.Detail{Path: "expiresAt", Rule: "date-time"})
		}
	}
	if len(broken) > 0 {
		return key, broken
	}
	limits, err := access.Limits(rate, in.Burst)
	if err != nil {
		return key, []httpapi.Detail{{Path: "rate", Rule: "range:0.01-100000"}}
	}
	key.Rate, key.Burst = limits.Rate, limits.Burst
	if key.Scopes, err = access.ParseScopes(strings.Join(in.Scopes, ",")); err != nil {
		return key, []httpapi.Detail{{Path: "scopes", Rule: "minItems:1"}}
	}
	return key, nil
}

func (s *server) rotate(w http.ResponseWriter, r *http.Request) {
	var in rotateShape
	warnings, ok := httpapi.ReadOptionalJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	if broken := httpapi.Check(&in); len(broken) > 0 {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid, Details: broken})
		return
	}
	overlap := Overlaps[cmp.Or(in.Overlap, "24h")]
	s.change(w, r, func(ctx context.Context, by string, seen int64, old access.Key) error {
		key, token, err := s.Ring.Rotate(ctx, by, seen, old, overlap)
		if errors.Is(err, ErrEnded) {
			httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unprocessable, Message: "The key is no longer valid; create a new one."})
			return nil
		}
		if errors.Is(err, ErrTooMany) {
			httpapi.Fail(w, r, tooMany)
			return nil
		}
		if err == nil {
			httpapi.OKVersion(w, r, Version(&key), s.minted(&key, token, warnings))
		}
		return err
	})
}

func (s *server) revoke(w http.ResponseWriter, r *http.Request) {
	s.change(w, r, func(ctx context.Context, by string, seen int64, key access.Key) error {
		key, err := s.Ring.Revoke(ctx, by, seen, key)
		if err == nil {
			httpapi.OKVersion(w, r, Version(&key), s.row(&key, s.used(r, []string{key.ID})))
		}
		return err
	})
}

// change calls do with the key in the path. If the settings changed in the meantime, change reads the key again and
// retries, so that the decision is based on the new state.
func (s *server) change(w http.ResponseWriter, r *http.Request, do func(ctx context.Context, by string, seen int64, key access.Key) error) {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	by := httpapi.Caller(r.Context()).ID
	s.failed(w, r, audit.Retry(ctx, func() error {
		seen := s.Ring.Seen()
		key, ok := s.find(w, r)
		if !ok || !httpapi.MatchVersion(w, r, Version(&key)) {
			return nil
		}
		return do(ctx, by, seen, key)
	}))
}

// find returns the key in the path, which must belong to the caller's hospital. If it returns false, it has sent an
// error response.
func (s *server) find(w http.ResponseWriter, r *http.Request) (access.Key, bool) {
	key, known := s.Ring.Register.Key(httpapi.PathValue(r, "id"))
	if !known || key.Hospital != httpapi.Caller(r.Context()).Hospital {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return key, false
	}
	return key, true
}

func (s *server) failed(w http.ResponseWriter, r *http.Request, err error) bool {
	if err == nil {
		return false
	}
	s.Shell.Log.WarnContext(r.Context(), "key not written", "error", err)
	httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: tryAgain})
	return true
}
