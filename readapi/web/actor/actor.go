// Package actor authenticates people to the API for the acts that they perform on the pages.
package actor

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"svc/internal/admin/users"
	"svc/internal/httpapi/access"
	"svc/internal/seal"
)

// Tokens creates and verifies API tokens for people. A token is valid for one minute. The API treats a token like a
// key.
type Tokens struct {
	seals    *seal.Keyring
	users    *users.Register
	now      func() time.Time
	register *access.Register
}

const (
	prefix   = "svcact_"
	purpose  = "svc.v1 actor"
	lifetime = time.Minute
	rate     = access.DefaultRate // one page makes several requests
	burst    = 4 * access.DefaultRate
)

// New returns the [Tokens] of an installation. If seals is nil, people cannot act on the pages.
func New(seals *seal.Keyring, people *users.Register, register *access.Register, now func() time.Time) *Tokens {
	return &Tokens{seals: seals, users: people, register: register, now: now}
}

// actor is the content of a token.
type actor struct {
	User     string         `json:"u"`
	Hospital string         `json:"h"`
	Scopes   []access.Scope `json:"s"`
	Until    int64          `json:"t"` // Unix milliseconds
	// Role is the minimum role that the person must still have when the token is used; "" means charge.
	Role users.Role `json:"r,omitempty"`
}

// Lookup is like [access.Register.Lookup], but also accepts tokens for people.
func (a *Tokens) Lookup(token string) (access.Key, bool) {
	text, is := strings.CutPrefix(token, prefix)
	if !is || a.seals == nil {
		return a.register.Lookup(token)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return access.Key{}, false
	}
	clear, err := a.seals.Open(purpose, sealed)
	var who actor
	if err != nil || json.Unmarshal(clear, &who) != nil {
		return access.Key{}, false
	}
	user, known := a.users.User(who.Hospital, who.User)
	now, until := a.now(), time.UnixMilli(who.Until)
	slices.Sort(who.Scopes)
	key := access.Key{
		ID: who.User, Source: access.PagesSource, Hospital: who.Hospital, Name: user.Label, Scopes: who.Scopes, Rate: rate, Burst: burst,
	}
	may := known && user.May(now) && user.Role.Covers(users.Charge) && (who.Role == "" || user.Role.Covers(who.Role))
	return key, may && now.Before(until) && until.Before(now.Add(2*lifetime))
}

// Token returns a token for a person, valid for one minute.
func (a *Tokens) Token(hospital, user string, scope access.Scope) string {
	return a.tokenOf(actor{User: user, Hospital: hospital, Scopes: []access.Scope{scope}})
}

// AdminToken returns a token for an administrator, valid for one minute.
func (a *Tokens) AdminToken(hospital, user string) string {
	scopes := []access.Scope{access.Admin, access.ReadStatus, access.ReadUnitState, access.ReadPredict}
	return a.tokenOf(actor{User: user, Hospital: hospital, Role: users.Admin, Scopes: scopes})
}

func (a *Tokens) tokenOf(who actor) string {
	who.Until = a.now().Add(lifetime).UnixMilli()
	clear, err := json.Marshal(who)
	if err != nil {
		panic(err) // strings and a number can always be encoded
	}
	return prefix + base64.RawURLEncoding.EncodeToString(a.seals.Seal(purpose, clear))
}
