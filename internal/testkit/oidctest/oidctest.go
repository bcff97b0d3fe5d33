// Package oidctest is an OpenID Connect provider for tests. It implements the authorization code flow with PKCE, and
// signs its tokens. On request, it behaves as a hostile or broken provider would.
package oidctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The credentials of the provider's only client.
const (
	ClientID     = "svc"
	ClientSecret = "s3cret"
)

// Issuer is the provider. Its fields may be changed at any time while its lock is held.
type Issuer struct {
	*httptest.Server
	sync.Mutex

	Claims map[string]any        // claims of the next token, which override the default claims
	Codes  map[string]url.Values // parameters of the authorization request for each valid code; tests set them
	Sign   *rsa.PrivateKey       // key that signs tokens; nil: the key that is published
	Away   bool
	Lost   bool // whether requests for the published keys fail
	Tokens int  // number of token requests

	key *rsa.PrivateKey
	now func() time.Time
}

// New starts a provider that uses the given clock. The provider signs in the person "ada".
func New(t testing.TB, now func() time.Time) *Issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{key: key, now: now, Claims: map[string]any{}, Codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v) //nolint:errcheck // if the write fails, the client's request fails, too
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.Lock()
		lost := i.Lost
		i.Unlock()
		if lost {
			http.Error(w, "lost", http.StatusInternalServerError)
			return
		}
		answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": raw(key.N.Bytes()), "e": raw(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.Lock()
		away := i.Away
		i.Unlock()
		if away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

func raw(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// token exchanges an authorization code for a token if the client authenticates and sends the verifier of the code.
// Each code works only once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.Lock()
	defer i.Unlock()
	i.Tokens++
	asked, known := i.Codes[r.FormValue("code")]
	delete(i.Codes, r.FormValue("code"))
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	proved := asked.Get("code_challenge_method") == "S256" && asked.Get("code_challenge") == raw(sum[:])
	if !known || id != ClientID || secret != ClientSecret || !proved {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte(`{"error":"invalid_grant"}`)) //nolint:errcheck // if the write fails, the client's request fails, too
		return
	}
	now := i.now()
	claims := map[string]any{
		"iss": i.URL, "aud": ClientID, "sub": "ada", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "nonce": asked.Get("nonce"),
		"name": "Ada\nL.", "groups": []string{"nurses"}, "acr": "mfa",
	}
	maps.Copy(claims, i.Claims)
	head, _ := json.Marshal(map[string]string{"alg": "RS256", "kid": "1"}) //nolint:errcheck // strings can always be encoded
	body, _ := json.Marshal(claims)                                        //nolint:errcheck // tests set claims that can be encoded
	text := raw(head) + "." + raw(body)
	digest := sha256.Sum256([]byte(text))
	key := i.key
	if i.Sign != nil {
		key = i.Sign
	}
	signed, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:]) //nolint:errcheck // the key is valid
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": text + "." + raw(signed)}
	json.NewEncoder(w).Encode(answer) //nolint:errcheck // if the write fails, the client's request fails, too
}
