package openapi

import (
	"encoding/json"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestPlainFirst: plain JSON is listed first, because generated clients use the first content type.
func TestPlainFirst(t *testing.T) {
	media := func(kind string) *huma.MediaType { return &huma.MediaType{Schema: &huma.Schema{Type: kind}} }
	text, err := json.Marshal(plainFirst{
		"text/plain": media("string"), "application/fhir+json": media("object"), "application/json": media("array"), "application/a": media("null"),
	})
	const want = `{"application/json":{"schema":{"type":"array"}},"application/a":{"schema":{"type":"null"}},` +
		`"application/fhir+json":{"schema":{"type":"object"}},"text/plain":{"schema":{"type":"string"}}}`
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s, want\n%s", err, text, want)
	}
}
