package egresstest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// Names is an in-memory name server. Every query of its [Names.Resolver] is answered from the table, without network
// access.
type Names struct {
	mu    sync.Mutex
	table map[string][]netip.Addr
}

// Set makes a name resolve to the given addresses. Without addresses, the name does not exist.
func (n *Names) Set(name string, to ...netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.table == nil {
		n.table = map[string][]netip.Addr{}
	}
	n.table[strings.ToLower(name)] = to
}

// Resolver returns a resolver that uses the table.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve answers queries framed as DNS over TCP, because the standard library's resolver uses that framing on a
// connection that is not packet-oriented.
func (n *Names) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // closing a pipe cannot fail
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer := n.answer(query)
		if _, err := conn.Write(binary.BigEndian.AppendUint16(nil, uint16(len(answer)))); err != nil { //nolint:gosec // at most a few addresses
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// Constants of the DNS message format (RFC 1035, RFC 3596).
const (
	headSize   = 12
	typeA      = 1
	typeAAAA   = 28
	classIN    = 1
	noSuchName = 3
)

func (n *Names) answer(query []byte) []byte {
	end := headSize
	var labels []string
	for query[end] != 0 {
		size := int(query[end])
		labels = append(labels, string(query[end+1:end+1+size]))
		end += 1 + size
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	question := query[headSize : end+5]
	n.mu.Lock()
	found, known := n.table[strings.ToLower(strings.Join(labels, "."))]
	n.mu.Unlock()

	var records []byte
	count := uint16(0)
	for _, a := range found {
		data := a.AsSlice()
		if kind == typeA && len(data) != 4 || kind == typeAAAA && len(data) != 16 || kind != typeA && kind != typeAAAA {
			continue
		}
		records = append(records, 0xc0, headSize) // the name in the question
		records = binary.BigEndian.AppendUint16(records, kind)
		records = binary.BigEndian.AppendUint16(records, classIN)
		records = append(records, 0, 0, 0, 0)                               // time to live: 0 seconds
		records = binary.BigEndian.AppendUint16(records, uint16(len(data))) //nolint:gosec // the length is 4 or 16
		records = append(records, data...)
		count++
	}
	answer := append([]byte{}, query[:2]...)
	code := byte(0)
	if !known || len(found) == 0 {
		code = noSuchName
	}
	answer = append(answer, 0x84, 0x80|code, 0, 1) // authoritative answer to one question
	answer = binary.BigEndian.AppendUint16(answer, count)
	answer = append(answer, 0, 0, 0, 0)
	answer = append(answer, question...)
	return append(answer, records...)
}
