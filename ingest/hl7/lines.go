package hl7

import "bytes"

// lines finds line ends. CR is the standard; LF and the framing bytes of MLLP end a line
// too. It searches ahead once for each kind, so a whole message costs four fast passes.
type lines struct {
	raw  []byte
	next [4]int // position after the next line end of each kind; 0: unknown
}

const terminators = "\r\n\x0b\x1c"

// end returns where the line that begins at pos ends.
func (l *lines) end(pos int) int {
	end := len(l.raw)
	for i := range l.next {
		if l.next[i] <= pos {
			n := bytes.IndexByte(l.raw[pos:], terminators[i])
			if n < 0 {
				n = len(l.raw) - pos
			}
			l.next[i] = pos + n + 1
		}
		end = min(end, l.next[i]-1)
	}
	return end
}

func isTerminator(c byte) bool { return c == '\r' || c == '\n' || c == 0x0b || c == 0x1c }

// byteOrderMark is the byte order mark of UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// trimFrame removes a byte order mark, line ends and framing bytes around the text.
func trimFrame(raw []byte) []byte {
	for len(raw) > 0 {
		switch {
		case isTerminator(raw[0]):
			raw = raw[1:]
		case isTerminator(raw[len(raw)-1]):
			raw = raw[:len(raw)-1]
		case raw[0] == byteOrderMark[0] && bytes.HasPrefix(raw, byteOrderMark):
			raw = raw[len(byteOrderMark):]
		default:
			return raw
		}
	}
	return raw
}
