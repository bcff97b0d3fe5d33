package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/settings"
	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
)

// actors are the people who act on the pages, as the API knows them. A client has the token of a
// key; a person has a token that lasts one minute.
type actors struct {
	seals    *seal.Keyring
	users    *users.Register
	now      func() time.Time
	register *access.Register
}

const (
	actorPrefix = "svcact_"
	actorSealed = "svc.v1 actor"
	actorFor    = time.Minute
	actorSource = "pages"            // of the records that people enter on the pages
	actorRate   = access.DefaultRate // one page makes several requests
	actorBurst  = 4 * access.DefaultRate
)

// actor is the content of a token.
type actor struct {
	User     string         `json:"u"`
	Hospital string         `json:"h"`
	Scopes   []access.Scope `json:"s"`
	Until    int64          `json:"t"` // Unix milliseconds
	// Role is the least role that the person must still have. "": charge.
	Role users.Role `json:"r,omitempty"`
}

// lookup is [access.Register.Lookup], and also accepts the tokens of people.
func (a *actors) lookup(token string) (access.Key, bool) {
	text, is := strings.CutPrefix(token, actorPrefix)
	if !is || a.seals == nil {
		return a.register.Lookup(token)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return access.Key{}, false
	}
	clear, err := a.seals.Open(actorSealed, sealed)
	var who actor
	if err != nil || json.Unmarshal(clear, &who) != nil {
		return access.Key{}, false
	}
	user, known := a.users.User(who.Hospital, who.User)
	now, until := a.now(), time.UnixMilli(who.Until)
	slices.Sort(who.Scopes)
	key := access.Key{
		ID: who.User, Source: actorSource, Hospital: who.Hospital, Name: user.Label, Scopes: who.Scopes, Rate: actorRate, Burst: actorBurst,
	}
	return key, known && user.May(now) && user.Role.Covers(users.Charge) && (who.Role == "" || user.Role.Covers(who.Role)) && now.Before(until) && until.Before(now.Add(2*actorFor))
}

// token returns a token for a person, valid for one minute.
func (a *actors) token(hospital, user string, scope access.Scope) string {
	return a.tokenOf(actor{User: user, Hospital: hospital, Scopes: []access.Scope{scope}})
}

// adminToken returns a token for an administrator, valid for one minute.
func (a *actors) adminToken(hospital, user string) string {
	return a.tokenOf(actor{User: user, Hospital: hospital, Role: users.Admin, Scopes: []access.Scope{access.Admin, access.ReadStatus, access.ReadUnitState, access.ReadPredict}})
}

func (a *actors) tokenOf(who actor) string {
	who.Until = a.now().Add(actorFor).UnixMilli()
	clear, err := json.Marshal(who)
	if err != nil {
		panic(err) // texts and a number
	}
	return actorPrefix + base64.RawURLEncoding.EncodeToString(a.seals.Seal(actorSealed, clear))
}

// newActors returns the actors. Without a secrets key no person may act.
func newActors(s *settings.Store, now func() time.Time) (*actors, error) {
	a := &actors{users: s.Users, now: now, register: s.Register}
	if s.Seals == nil {
		return a, nil
	}
	var err error
	a.seals, err = s.Seals.For("actor")
	return a, err
}

// ingestOf returns the handler of the writes of the API: this process, or the one at
// --ingest-url. nil: there is neither.
func ingestOf(h *service) http.Handler {
	if h.router.Match(chi.NewRouteContext(), http.MethodPost, "/api/ingest/staffing") {
		return h.router
	}
	if h.config.IngestURL == nil {
		return nil
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(h.config.IngestURL) },
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			h.log.WarnContext(r.Context(), "svc ingest does not answer", "error", err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	return proxy
}
