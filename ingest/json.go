package ingest

import "svc/internal/httpapi/syntax"

// value returns the text of the JSON value that begins at or after i, and the position
// after it.
func value(text []byte, i int) (raw []byte, after int) {
	i = syntax.AfterSpace(text, i)
	after = syntax.AfterValue(text, i)
	return text[i:after], after
}

// member is one field of a JSON object.
type member struct {
	name []byte
	raw  []byte
	seen bool // whether a caller requested the field
}

// members appends the fields of an object in order. A null field is treated as missing but remains in the list, so
// that close does not warn about it.
func members(all []member, object []byte) []member {
	for i := syntax.AfterSpace(object, 1); object[i] != '}'; {
		var m member
		var raw []byte
		raw, i = value(object, i)
		m.name = syntax.Unquote(raw)
		i = syntax.AfterSpace(object, i) + 1 // skip the colon
		m.raw, i = value(object, i)
		all = append(all, m)
		if i = syntax.AfterSpace(object, i); object[i] == ',' {
			i = syntax.AfterSpace(object, i+1)
		}
	}
	return all
}

// elements returns the elements of an array, up to the given maximum. complete is false if there are more.
func elements(array []byte, most int) (all [][]byte, complete bool) {
	for i := syntax.AfterSpace(array, 1); array[i] != ']'; {
		if len(all) == most {
			return all, false
		}
		var raw []byte
		raw, i = value(array, i)
		all = append(all, raw)
		if i = syntax.AfterSpace(array, i); array[i] == ',' {
			i = syntax.AfterSpace(array, i+1)
		}
	}
	return all, true
}
