package mllp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// Framing bytes. A message is framed as <VT> message <FS><CR>.
const (
	startBlock = 0x0b
	endBlock   = 0x1c
)

// Append appends the message in its frame to dst.
func Append(dst, message []byte) []byte {
	dst = append(dst, startBlock)
	dst = append(dst, message...)
	return append(dst, endBlock, '\r')
}

// Fault is a deviation of a sender's frames from the standard. Each fault is counted; only Cut loses a message.
type Fault uint8

// The faults of a sender.
const (
	Noise    Fault = iota // bytes or an empty frame outside any message; skipped
	NoStart               // a message that begins without 0x0B
	NoEnd                 // a message that ends where the next one begins
	NoReturn              // 0x1C without 0x0D after it
	Cut                   // an incomplete message; dropped
	faultKinds
)

// String returns the name of the fault in logs and metrics.
func (f Fault) String() string {
	return [...]string{"noise", "no_start", "no_end", "no_return", "cut"}[f]
}

// Faults returns every fault.
func Faults() []Fault { return []Fault{Noise, NoStart, NoEnd, NoReturn, Cut} }

// ErrTooLong means that a message, or the noise before it, exceeds the limit.
var ErrTooLong = errors.New("longer than the limit")

// Reader reads messages from a stream.
type Reader struct {
	in      *bufio.Reader
	limit   int
	ended   bool // whether a 0x1C ended the message before its 0x0D arrived
	message []byte
	faults  [faultKinds]int64
}

// NewReader returns a reader of messages up to limit bytes.
func NewReader(in io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReader(in), limit: limit}
}

// Count returns the number of times that a fault occurred.
func (r *Reader) Count(f Fault) int64 { return r.faults[f] }

// Wait waits until the next message has begun. It returns the error of the stream, which is [io.EOF] if the stream
// ended between messages.
func (r *Reader) Wait() error {
	for {
		b, err := r.in.Peek(1)
		if err != nil {
			return err
		}
		if r.ended && b[0] != '\r' {
			r.faults[NoReturn]++
		}
		r.ended = false
		if b[0] != '\r' && b[0] != '\n' {
			return nil
		}
		if err = r.discard(1); err != nil {
			return err
		}
	}
}

// Next returns the next message without its frame. The message is empty if the frame is empty. It is valid until the
// next call. The error is that of the stream, [io.ErrUnexpectedEOF] if the stream ended inside a message, or
// [ErrTooLong].
func (r *Reader) Next() ([]byte, error) {
	if err := r.Wait(); err != nil {
		return nil, err
	}
	if cap(r.message) > 64<<10 { // the buffer of one long message must not be retained for the lifetime of the connection
		r.message = nil
	}
	r.message = r.message[:0]
	err := r.begin()
	for err == nil {
		var done bool
		if done, err = r.readMore(); done {
			return r.message, nil
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	r.faults[Cut]++
	return nil, err
}

// begin reads up to the first byte of a message.
func (r *Reader) begin() error {
	b, err := r.in.Peek(1)
	if err != nil {
		return err
	}
	if b[0] == startBlock {
		return r.discard(1)
	}
	switch head, err := r.in.Peek(3); {
	case err != nil:
		return err
	case string(head) == "MSH", string(head) == "FHS", string(head) == "BHS":
		r.faults[NoStart]++
		return nil
	}
	r.faults[Noise]++
	for skipped := 0; skipped <= r.limit; {
		chunk, err := r.chunk()
		if err != nil {
			return err
		}
		if at := bytes.IndexByte(chunk, startBlock); at >= 0 {
			return r.discard(at + 1)
		}
		skipped += len(chunk)
		if err = r.discard(len(chunk)); err != nil {
			return err
		}
	}
	return ErrTooLong
}

// readMore reads the bytes of a message that have arrived. done reports whether the message is complete.
func (r *Reader) readMore() (done bool, err error) {
	chunk, err := r.chunk()
	if err != nil {
		return false, err
	}
	at := bytes.IndexByte(chunk, endBlock)
	if at < 0 {
		at = len(chunk)
	}
	if start := bytes.IndexByte(chunk[:at], startBlock); start >= 0 {
		at = start
	}
	if len(r.message)+at > r.limit {
		return false, ErrTooLong
	}
	r.message = append(r.message, chunk[:at]...)
	if at == len(chunk) {
		return false, r.discard(at)
	}
	if err := r.discard(at); err != nil {
		return false, err
	}
	if chunk[at] == startBlock {
		return r.restart()
	}
	return r.end()
}

// restart handles a 0x0B inside a message. The 0x0B starts a new message only if a header follows; if not, it is a
// character of the text, such as one that an editor inserted. If a header follows, the text before the 0x0B is a
// whole message if it ends with a line break or a 0x1C; if not, the message was cut off when its sender restarted.
// The reader waits for the header, because no frame ends with 0x0B.
func (r *Reader) restart() (done bool, err error) {
	text := r.message
	if len(bytes.Trim(text, "\r\n")) == 0 { // 0x0B was repeated
		r.faults[Noise]++
		r.message = text[:0]
		return false, r.discard(1)
	}
	begins, err := r.beginsMessage()
	switch {
	case err != nil:
		return false, err
	case !begins:
		r.message = append(text, startBlock)
		if len(r.message) > r.limit {
			return false, ErrTooLong
		}
		return false, r.discard(1)
	case text[len(text)-1] == '\r', text[len(text)-1] == '\n', text[len(text)-1] == endBlock:
		r.faults[NoEnd]++
		return true, nil // the 0x0B is not consumed: it starts the next message
	default:
		r.faults[Cut]++
		r.message = text[:0]
		return false, r.discard(1)
	}
}

// beginsMessage reports whether an HL7 header follows the next byte, which is a 0x0B. The header may be in upper or
// lower case, and may follow blanks and a byte order mark. beginsMessage waits for as many bytes as it needs to
// decide.
func (r *Reader) beginsMessage() (bool, error) {
	for n := 2; n < mostBefore; n++ {
		text, err := r.in.Peek(n)
		if err != nil {
			if errors.Is(err, io.EOF) { // the rest of the stream is not a header
				return false, nil
			}
			return false, err
		}
		head := text[1:]
		for len(head) > 0 && bytes.IndexByte(beforeHeader, head[0]) >= 0 {
			head = head[1:]
		}
		switch {
		case len(head) == 0:
		case !couldBeHeader(head[:min(len(head), 3)]):
			return false, nil
		case len(head) > 3:
			return head[3] > ' ' && !isLetterOrDigit(head[3]), nil
		}
	}
	return false, nil
}

// beforeHeader contains the bytes of blanks, no-break spaces and byte order marks.
var beforeHeader = []byte(" \t\r\n\xa0\xc2\xef\xbb\xbf")

// mostBefore limits the search for a header: fewer bytes than this are inspected, including the 0x0B.
const mostBefore = 32

// couldBeHeader reports whether text is the beginning of MSH, FHS or BHS.
func couldBeHeader(text []byte) bool {
	for _, header := range []string{"MSH", "FHS", "BHS"} {
		if strings.EqualFold(string(text), header[:len(text)]) {
			return true
		}
	}
	return false
}

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// end handles a 0x1C. If nothing has arrived after the 0x1C, or if a CR, an LF or a 0x0B follows it, the message is
// complete. If another byte follows, the 0x1C is part of the message. The reader does not wait for the 0x0D, because
// a sender that omits it is already waiting for the acknowledgment.
func (r *Reader) end() (done bool, err error) {
	if err = r.discard(1); err != nil {
		return false, err
	}
	if r.in.Buffered() == 0 {
		r.ended = true
		return true, nil
	}
	next, err := r.in.Peek(1)
	switch {
	case err != nil:
		return false, err
	case next[0] == '\r':
		return true, r.discard(1)
	case next[0] == '\n', next[0] == startBlock:
		r.faults[NoReturn]++
		return true, nil
	}
	r.message = append(r.message, endBlock)
	return false, nil
}

// chunk returns the bytes that have arrived, at least one.
func (r *Reader) chunk() ([]byte, error) {
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	return r.in.Peek(r.in.Buffered())
}

func (r *Reader) discard(n int) error {
	_, err := r.in.Discard(n)
	return err
}
