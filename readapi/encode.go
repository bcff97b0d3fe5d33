package readapi

import (
	"bytes"

	"svc/internal/httpapi"
)

// encode returns the JSON of an answer.
func encode(answer any) raw {
	b, err := httpapi.Marshal(answer)
	if err != nil {
		panic(err) // the structs of answers have nothing that JSON cannot say
	}
	return b
}

var (
	roomsBegin = []byte(`"rooms":[`)
	comma      = []byte{','}
)

// pieces returns the answer in order: each room, and the bytes before, between and after
// the rooms. So the rooms are not copied.
func (u *unitState) pieces() [][]byte {
	bare := *u
	bare.Rooms = []raw{}
	b := encode(&bare)
	at := bytes.Index(b, roomsBegin) + len(roomsBegin)
	pieces := make([][]byte, 0, 2*len(u.Rooms)+1)
	pieces = append(pieces, b[:at])
	for i, room := range u.Rooms {
		if i > 0 {
			pieces = append(pieces, comma)
		}
		pieces = append(pieces, room)
	}
	return append(pieces, b[at:])
}
