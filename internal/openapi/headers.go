package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"svc/internal/httpapi/contract"

	"github.com/danielgtaylor/huma/v2"
)

// A client generated from the document finds the headers that it needs: when to ask
// again, and with which entity tag.
const (
	aboutRequestID = "That of the request, or a fresh UUID."
	aboutETag      = "For If-None-Match: changes with data."
	aboutLimit     = "What is left of the rate of the key, as in draft-ietf-httpapi-ratelimit-headers; not there for a key without a rate."
	aboutPolicy    = "The rate of the key; not there for a key without one."
	aboutRetry     = "Seconds after which to ask again."
	aboutAllow     = "The methods of the path."
	aboutChallenge = "Bearer."
	aboutReplayed  = "true: the answer to an earlier request with the same Idempotency-Key."
	aboutPrefer    = "respond-async, if that was asked for: the answer did not wait until it was applied."
)

// headers documents the headers of the answers of an operation.
func headers(op *huma.Operation, o *contract.Operation) {
	takes := func(name string) bool {
		return slices.ContainsFunc(o.Parameters, func(p contract.Parameter) bool { return p.Name == name })
	}
	for status, r := range op.Responses {
		has := map[string]string{"X-Request-Id": aboutRequestID}
		if (o.Scope != "" || o.Keyed) && status != "401" { // a 401 has no key, so no rate
			has["RateLimit"], has["RateLimit-Policy"] = aboutLimit, aboutPolicy
		}
		switch status {
		case "200", "304":
			if unchanged := op.Responses["304"]; unchanged != nil {
				has["ETag"] = aboutETag
			}
			if takes("Idempotency-Key") {
				has["Idempotency-Replayed"] = aboutReplayed
			}
			if takes("Prefer") {
				has["Preference-Applied"] = aboutPrefer
			}
		case "401":
			has["WWW-Authenticate"] = aboutChallenge
		case "405":
			has["Allow"] = aboutAllow
			delete(has, "RateLimit") // the method is checked before the key
			delete(has, "RateLimit-Policy")
		case "429", "503":
			has["Retry-After"] = aboutRetry
		}
		r.Headers = map[string]*huma.Param{}
		for name, about := range has {
			r.Headers[name] = &huma.Param{Description: about, Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
}

// plainFirst writes plain JSON as the first content type of a request or response.
// Generated clients send and accept the first.
type plainFirst map[string]*huma.MediaType

// MarshalJSON implements [json.Marshaler].
func (c plainFirst) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for _, kind := range slices.SortedFunc(maps.Keys(c), comparePlain) {
		name, err := json.Marshal(kind)
		if err != nil {
			return nil, err
		}
		media, err := json.Marshal(c[kind])
		if err != nil {
			return nil, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), media...)
	}
	return append(b, '}'), nil
}

func comparePlain(a, b string) int {
	const plain = "application/json"
	switch {
	case a == b:
		return 0
	case a == plain:
		return -1
	case b == plain:
		return 1
	}
	return strings.Compare(a, b)
}
