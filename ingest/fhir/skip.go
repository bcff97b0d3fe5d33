package fhir

// skip checks the value that comes next and moves behind it. Most of a body is
// skipped, so this is where the time goes: one loop, without recursion; which of
// the open brackets are objects is a bit each.
func (s *scanner) skip() {
	b, i := s.b, s.i
	var objects uint64 // from the innermost bracket on
	depth := 0
	rule := ruleJSON
value:
	for {
		if i < len(b) && b[i] <= ' ' {
			i = afterSpace(b, i)
		}
		if i >= len(b) {
			break
		}
		switch c := b[i]; c {
		case '"':
			var end int
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
			if i < len(b) && b[i] <= ' ' {
				i = afterSpace(b, i)
			}
			if i >= len(b) {
				break value
			}
			if b[i] == c+2 { // the closing bracket, both times
				break
			}
			if objects&1 == 0 {
				continue
			}
			if i, rule = afterKey(b, i); i < 0 {
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
		// Behind a value, or at the bracket that closes an empty one.
		for {
			if depth == 0 {
				s.i = i
				return
			}
			if i < len(b) && b[i] <= ' ' {
				i = afterSpace(b, i)
			}
			if i >= len(b) {
				break value
			}
			object := objects&1 != 0
			switch c := b[i]; {
			case c == ',':
				i++
				if object {
					if i < len(b) && b[i] <= ' ' {
						i = afterSpace(b, i)
					}
					if i, rule = afterKey(b, i); i < 0 {
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

// afterKey returns the position after the name at i and its colon; -1 and the rule
// broken if there is none.
func afterKey(b []byte, i int) (int, string) {
	if i >= len(b) || b[i] != '"' {
		return -1, ruleJSON
	}
	i, _, rule := afterString(b, i+1)
	if i < 0 {
		return -1, rule
	}
	if i < len(b) && b[i] <= ' ' {
		i = afterSpace(b, i)
	}
	if i >= len(b) || b[i] != ':' {
		return -1, ruleJSON
	}
	return i + 1, ruleJSON
}
