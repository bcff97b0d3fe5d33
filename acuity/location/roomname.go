package location

import (
	"svc/acuity"
)

// roomName is the name of the room of a location; a label alone counts as one.
func roomName(l *acuity.Location) string {
	if l.Room == "" && l.PointOfCare == "" {
		return l.Label
	}
	return l.Room
}

// roomNumber returns the room id that a name could be.
func roomNumber(room string) (int32, bool) {
	if room == "" || len(room) > 9 {
		return 0, false
	}
	n := int32(0)
	for i := range len(room) {
		if room[i] < '0' || room[i] > '9' {
			return 0, false
		}
		n = n*10 + int32(room[i]-'0')
	}
	return n, true
}

// fold appends a name in upper case without spaces.
func fold(dst []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c == ' ' || c == '\t':
		case c >= 'a' && c <= 'z':
			dst = append(dst, c+'A'-'a')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// key appends names, folded, so that their borders count.
func key(dst []byte, names ...string) []byte {
	for i, name := range names {
		if i > 0 {
			dst = append(dst, 0)
		}
		dst = fold(dst, name)
	}
	return dst
}
