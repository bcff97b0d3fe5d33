package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

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
