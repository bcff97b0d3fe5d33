package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// documentVersion is the version of the document, which is independent of the version of the protocol.
const documentVersion = "1.1.0"

// answers contains recorded responses of the running system, by operation. A test with -update-answers records them.
//
//go:embed answers.json
var answers []byte

const about = `svc receives clinical, census, staffing and roster facts from a maternity unit, and returns its acuity and staffing verdict.

Every request carries a key: Authorization: Bearer svc_… . A key belongs to one hospital and may do what its scopes allow. ` +
	`Times are RFC 3339, answered in UTC with milliseconds. ` +
	`Unknown fields in a request are ignored, with a warning; null is the same as absent.`

// documentOf creates the OpenAPI document for the operations.
func documentOf(operations []contract.Operation, docs string) ([]byte, error) {
	var shown map[string]json.RawMessage
	if err := json.Unmarshal(answers, &shown); err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	registry := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "svc: maternity acuity and staffing", Version: documentVersion, Description: about,
			License: &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: "/"}},
		Components: &huma.Components{
			Schemas: registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				//nolint:gosec // the form of a key, not a key
				"key": {Type: "http", Scheme: "bearer", BearerFormat: "svc_<64 hex>", Description: "An API key of one hospital, with scopes."},
			},
		},
	}
	if strings.HasPrefix(docs, "http") {
		doc.ExternalDocs = &huma.ExternalDocs{URL: docs}
	}
	if docs == "" { // errors then link to the address of the request; the examples show a placeholder
		docs = "https://svc.example" + httpapi.DocsPath
	}
	w := &writer{
		doc: doc, docs: docs, shown: shown,
		in:  &shapes{schemas: registry.Map(), named: map[reflect.Type]string{}},
		out: &shapes{schemas: registry.Map(), named: map[reflect.Type]string{}, closed: true},
	}
	w.addCommon()
	for i := range operations {
		w.addOperation(&operations[i])
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return append(text, '\n'), nil
}

// groups explains the purpose of each group of operations.
var groups = map[string]string{
	"Feeds":          "Data that hospitals send, and the status of the feeds.",
	"Reads":          "How much nursing each room needs, the level of the unit, and the forecast.",
	"Administration": "The codes, rules, locations and settings of a hospital, and its users.",
	"Webhooks":       "Partners that are notified of each change, and their deliveries.",
	"Alerts":         "Recipients, tiers and episodes of alerts.",
	"Discovery":      "Available without a key.",
	"Health":         "Health of the service.",
}

type writer struct {
	doc     *huma.OpenAPI
	docs    string
	shown   map[string]json.RawMessage
	in, out *shapes
}

// addCommon adds the components that all operations share.
func (w *writer) addCommon() {
	schemas := w.doc.Components.Schemas.Map()
	text := func() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }
	schemas["Meta"] = &huma.Schema{
		Type: huma.TypeObject, Required: []string{"requestId", "generatedAt", "hospitalId"}, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"requestId": text(), "hospitalId": text(), "generatedAt": {Type: huma.TypeString, Format: "date-time"},
		},
	}
	w.out.schemaOf(reflect.TypeOf(httpapi.ErrorShape())) // registers the schema Failure
	codes := schemas["FailureError"].Properties["code"]
	for _, kind := range problem.Kinds() {
		if code := kind.Code(); !slices.Contains(codes.Enum, any(code)) {
			codes.Enum = append(codes.Enum, code)
		}
	}
}

func (w *writer) addOperation(o *contract.Operation) {
	op := &huma.Operation{
		OperationID: o.ID, Method: o.Method, Path: o.Path, Tags: []string{o.Group}, Summary: o.Summary, Description: o.About,
		Responses: map[string]*huma.Response{"200": w.success(o)},
	}
	if o.Data == nil && len(o.Bare) == 0 {
		op.Responses = map[string]*huma.Response{"204": {Description: "Accepted; there is no response data."}}
	}
	if !slices.ContainsFunc(w.doc.Tags, func(t *huma.Tag) bool { return t.Name == o.Group }) {
		w.doc.Tags = append(w.doc.Tags, &huma.Tag{Name: o.Group, Description: groups[o.Group]})
	}
	switch {
	case o.Scope != "":
		op.Security = []map[string][]string{{"key": {}}}
		op.Extensions = map[string]any{"x-scope": string(o.Scope)}
		op.Description = strings.TrimSpace(op.Description + "\n\nScope: `" + string(o.Scope) + "`.")
	case o.Keyed:
		op.Security = []map[string][]string{{"key": {}}}
	default:
		op.Security = []map[string][]string{{}}
	}
	w.addParameters(op, o)
	if len(o.Bodies) > 0 {
		op.RequestBody = &huma.RequestBody{Required: !o.Bodies[0].Optional, Content: map[string]*huma.MediaType{}}
	}
	for i := range o.Bodies {
		op.RequestBody.Content[o.Bodies[i].Type] = w.body(&o.Bodies[i])
	}
	for _, kind := range o.Refusals() {
		w.addRefusal(op, kind)
	}
	for _, kind := range o.RefusesOnPage {
		addBareRefusal(op, kind, o.Bare)
	}
	if slices.Contains(o.Bare, httpapi.FHIRType) {
		w.addOutcomes(op)
	}
	addHeaders(op, o)
	for _, r := range op.Responses {
		if len(r.Content) > 1 {
			r.Extensions = map[string]any{"content": plainFirst(r.Content)}
		}
	}
	if body := op.RequestBody; body != nil && len(body.Content) > 1 {
		body.Extensions = map[string]any{"content": plainFirst(body.Content)}
	}
	w.doc.AddOperation(op)
}

func (w *writer) addParameters(op *huma.Operation, o *contract.Operation) {
	op.Parameters = []*huma.Param{{
		Name: "X-Request-Id", In: "header",
		Description: "Returned in meta.requestId and as a header, if it is 1 to 128 visible ASCII characters.",
		Schema:      &huma.Schema{Type: huma.TypeString},
	}}
	for _, p := range o.Parameters {
		schema := &huma.Schema{Type: huma.TypeString, Pattern: patterns[p.Pattern], Format: p.Format}
		if p.Least != 0 || p.Most != 0 {
			least, most := float64(p.Least), float64(p.Most)
			schema = &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most}
		}
		for _, v := range p.Values {
			schema.Enum = append(schema.Enum, v)
		}
		one := &huma.Param{Name: p.Name, In: p.In, Description: p.About, Required: p.In == "path" || p.Needed, Schema: schema}
		switch n, err := strconv.ParseInt(p.Example, 10, 64); {
		case p.Example == "":
		case schema.Type == huma.TypeInteger && err == nil:
			one.Example = n
		default:
			one.Example = p.Example
		}
		op.Parameters = append(op.Parameters, one)
		if p.Name == "If-None-Match" && o.Method == http.MethodGet {
			op.Responses["304"] = &huma.Response{Description: "Not changed since the entity tag."}
		}
	}
}

func (w *writer) body(b *contract.Body) *huma.MediaType {
	media := &huma.MediaType{Examples: map[string]*huma.Example{}, Schema: &huma.Schema{Type: huma.TypeString, Pattern: patterns[b.Pattern]}}
	if any, several := b.Shape.(contract.AnyOf); several {
		media.Schema = &huma.Schema{}
		for _, shape := range any {
			media.Schema.AnyOf = append(media.Schema.AnyOf, w.in.schemaOf(reflect.TypeOf(shape)))
		}
	} else if b.Shape != nil {
		media.Schema = w.in.schemaOf(reflect.TypeOf(b.Shape))
	}
	for _, e := range b.Examples {
		var value any = e.Text
		if b.Shape != nil {
			value = json.RawMessage(e.Text)
		}
		media.Examples[strings.ReplaceAll(strings.ToLower(e.Name), " ", "-")] = &huma.Example{Summary: e.Name, Value: value}
	}
	return media
}

func (w *writer) success(o *contract.Operation) *huma.Response {
	r := &huma.Response{Description: "Done.", Content: map[string]*huma.MediaType{}}
	for _, kind := range o.Bare {
		media := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		if strings.HasSuffix(kind, "json") {
			media.Schema = &huma.Schema{Type: huma.TypeObject}
		}
		r.Content[kind] = media
	}
	if o.Data == nil {
		return r
	}
	name := strings.ToUpper(o.ID[:1]) + o.ID[1:] + "Success"
	w.doc.Components.Schemas.Map()[name] = &huma.Schema{
		Type: huma.TypeObject, Required: []string{"protocol", "ok", "data", "meta"}, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"protocol": {Type: huma.TypeString, Enum: []any{httpapi.Protocol}},
			"ok":       {Type: huma.TypeBoolean, Description: "true"}, // no enum: Python generators compare it with the string "true"
			"data":     w.out.schemaOf(reflect.TypeOf(o.Data)),
			"meta":     {Ref: schemaPrefix + "Meta"},
		},
	}
	media := &huma.MediaType{Schema: &huma.Schema{Ref: schemaPrefix + name}}
	if answer, ok := w.shown[o.ID]; ok {
		media.Example = answer
	}
	r.Content["application/json"] = media
	return r
}

// addBareRefusal adds an error response that has the same content types as the success response.
func addBareRefusal(op *huma.Operation, kind problem.Kind, types []string) {
	status := strconv.Itoa(kind.Status())
	r := op.Responses[status]
	if r == nil {
		r = &huma.Response{Description: http.StatusText(kind.Status()), Content: map[string]*huma.MediaType{}}
		op.Responses[status] = r
	}
	for _, one := range types {
		r.Content[one] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
}

// addRefusal adds one kind of error response. Kinds with the same status share a response.
func (w *writer) addRefusal(op *huma.Operation, kind problem.Kind) {
	status := strconv.Itoa(kind.Status())
	r := op.Responses[status]
	if r == nil {
		r = &huma.Response{
			Description: http.StatusText(kind.Status()),
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: &huma.Schema{Ref: schemaPrefix + "Failure"}, Examples: map[string]*huma.Example{},
			}},
		}
		op.Responses[status] = r
	}
	r.Content["application/json"].Examples[kind.Code()] = &huma.Example{
		Summary: kind.Code(),
		Value: map[string]any{
			"protocol": httpapi.Protocol, "ok": false,
			"error": map[string]any{"code": kind.Code(), "message": kind.Message(), "docs": w.docs},
		},
	}
}

// The descriptions of response headers. A generated client needs these headers to know when to retry and which entity
// tag to send.
const (
	aboutRequestID = "The X-Request-Id of the request, or a new UUID."
	aboutETag      = "For If-None-Match; changes with the data."
	aboutVersion   = "The version of the resource, for If-Match."
	aboutLimit     = "Remaining requests of the key, as in draft-ietf-httpapi-ratelimit-headers; absent for a key without a rate limit."
	aboutPolicy    = "The rate limit of the key; absent for a key without a rate limit."
	aboutRetry     = "Seconds to wait before a retry."
	aboutAllow     = "The methods that the path supports."
	aboutChallenge = "Bearer."
	aboutReplayed  = "true: this is the response to an earlier request with the same Idempotency-Key."
	aboutPrefer    = "respond-async, if requested: the response did not wait for processing."
)

// addHeaders documents the response headers of an operation.
func addHeaders(op *huma.Operation, o *contract.Operation) {
	takes := func(name string) bool {
		return slices.ContainsFunc(o.Parameters, func(p contract.Parameter) bool { return p.Name == name })
	}
	for status, r := range op.Responses {
		has := map[string]string{"X-Request-Id": aboutRequestID}
		if (o.Scope != "" || o.Keyed) && status != "401" { // a request without a valid key gets 401, and no rate limit applies to it
			has["RateLimit"], has["RateLimit-Policy"] = aboutLimit, aboutPolicy
		}
		switch status {
		case "200", "304":
			if op.Responses["304"] != nil {
				has["ETag"] = aboutETag
			}
			if o.Tagged {
				has["ETag"] = aboutVersion
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
			delete(has, "RateLimit") // the method is checked before the rate limit of the key
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

// plainFirst lists plain JSON as the first content type of a request or response, because generated clients send and
// accept the first one.
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
