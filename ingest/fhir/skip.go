package fhir

import "encoding/json"

// skip validates the next value and moves past it. Most of a body is skipped, so skip dominates the parsing time. It
// is one loop without recursion; one bit for each open bracket says whether that is an object.
func (s *scanner) skip() {
	b, i := s.b, s.i
	var objects uint64 // lowest bit: innermost bracket
	depth := 0
	rule := ruleJSON
	var end int
value:
	for {
		i = afterSpace(b, i)
		if i >= len(b) {
			break
		}
		switch c := b[i]; c {
		case '"':
			if end, _, rule = afterString(b, i+1); end < 0 {
				break value
			}
			rule = ruleJSON
			i = end
		case '{', '[':
			if depth++; s.depth+depth > maxDepth {
				rule = ruleDepth
				break value
			}
			objects = objects<<1 | uint64(c>>5&1) // '{' is 0x7B, '[' is 0x5B
			i++
			i = afterSpace(b, i)
			if i >= len(b) {
				break value
			}
			if b[i] == c+2 { // the closing bracket, for both kinds
				break
			}
			if objects&1 == 0 {
				continue
			}
			if end, i, _, rule = afterKey(b, i); end < 0 {
				break value
			}
			continue
		case 't', 'f', 'n':
			if i = afterLiteral(b, i); i < 0 {
				break value
			}
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			if i = afterNumber(b, i); i < 0 {
				break value
			}
		default:
			break value
		}
		// The position is after a value, or at the bracket that closes an empty one.
		for {
			if depth == 0 {
				s.i = i
				return
			}
			i = afterSpace(b, i)
			if i >= len(b) {
				break value
			}
			object := objects&1 != 0
			switch c := b[i]; {
			case c == ',':
				i++
				if object {
					i = afterSpace(b, i)
					if end, i, _, rule = afterKey(b, i); end < 0 {
						break value
					}
				}
				continue value
			case c == '}' && object, c == ']' && !object:
				i++
				depth--
				objects >>= 1
			default:
				break value
			}
		}
	}
	s.fail(rule)
}

// afterKey returns the position after the name at i, the position after its colon, and
// whether the name has an escape. On a fault it returns -1 and the broken rule.
func afterKey(b []byte, i int) (end, next int, escaped bool, rule string) {
	if i >= len(b) || b[i] != '"' {
		return -1, i, false, ruleJSON
	}
	if end, escaped, rule = afterString(b, i+1); end < 0 {
		return -1, i, false, rule
	}
	if next = afterSpace(b, end); next >= len(b) || b[next] != ':' {
		return -1, i, false, ruleJSON
	}
	return end, next + 1, escaped, ruleJSON
}

// markOf returns a bit that most names of an object do not share, for detecting duplicates.
func markOf(key []byte) uint64 {
	if len(key) == 0 {
		return 1
	}
	return 1 << ((uint(len(key)) + 7*uint(key[0]) + 31*uint(key[len(key)-1])) & 63)
}

func holds(names [][]byte, key []byte) bool {
	for _, name := range names {
		if string(name) == string(key) {
			return true
		}
	}
	return false
}

// unescape returns the content of a JSON string that has escapes.
func unescape(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil // cannot happen: the scanner has checked it
	}
	return []byte(text)
}
