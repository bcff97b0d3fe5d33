package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"svc/ingest"
)

// payload is one body to send: an HL7 v2 message, a FHIR body, or a body for another feed.
type payload struct {
	number int // counted across all files, from 1
	fhir   bool
	path   string // path below /api/ingest/, for a feed other than HL7 and FHIR
	async  bool   // whether the server may respond before it has applied the payload
	due    time.Time
	body   []byte
}

// readFile calls fn with every payload of a file. The name - means standard input.
func readFile(ctx context.Context, name string, fn func(payload) error) error {
	in, err := OpenInput(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close() //nolint:errcheck // the file was only read
	if err := readPayloads(in, fn); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

const byteOrderMark = "\xef\xbb\xbf"

// readPayloads calls fn with every payload of a file. The first character, after white space and byte order marks,
// shows whether the file contains JSON or HL7.
func readPayloads(in io.Reader, fn func(payload) error) error {
	text := bufio.NewReader(in)
	for {
		b, err := text.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("is empty")
		case err != nil:
			return err
		case b[0] == '{', b[0] == '[':
			return readFHIR(text, fn)
		case b[0] >= 'A' && b[0] <= 'Z':
			return readHL7(text, fn)
		}
		if b, err = text.Peek(len(byteOrderMark)); err == nil && string(b) == byteOrderMark {
			text.Discard(len(b)) //nolint:errcheck // the bytes are buffered
			continue
		}
		if b, _ = text.Peek(1); b[0] > ' ' { //nolint:errcheck // the bytes are buffered
			return errors.New("is neither HL7 v2 nor JSON")
		}
		text.Discard(1) //nolint:errcheck // the bytes are buffered
	}
}

// readFHIR calls fn with every JSON value of a file. A JSON file has one value; an NDJSON file has one per line.
func readFHIR(in io.Reader, fn func(payload) error) error {
	for values := json.NewDecoder(in); ; {
		var body json.RawMessage
		if err := values.Decode(&body); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("at byte %d: is not JSON", values.InputOffset())
		}
		if err := fn(payload{fhir: true, body: body}); err != nil {
			return err
		}
	}
}

// readHL7 calls fn with every message of a file. It skips the segments of batches (FHS, BHS, BTS, FTS), because svc
// acknowledges each message separately.
func readHL7(in io.Reader, fn func(payload) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, ingest.MaxMessage)
	lines.Split(splitSegments)
	var message []byte
	flush := func() error {
		if len(message) == 0 {
			return nil
		}
		p := payload{body: message}
		message = nil
		return fn(p)
	}
	for number := 1; lines.Scan(); number++ {
		segment := bytes.TrimPrefix(lines.Bytes(), []byte(byteOrderMark)) // after concatenation, a byte order mark can be in the middle
		switch name := segmentName(segment); {
		case len(segment) == 0:
		case name == "FHS", name == "BHS", name == "BTS", name == "FTS":
		case name != "MSH" && len(message) == 0:
			return fmt.Errorf("segment %d: no MSH segment precedes it", number)
		case name == "MSH":
			if err := flush(); err != nil {
				return err
			}
			fallthrough
		default:
			message = append(append(message, segment...), '\r')
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return flush()
}

// splitSegments is a [bufio.SplitFunc] that splits at line ends, and at the beginning and end of MLLP frames.
func splitSegments(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if at := bytes.IndexAny(data, "\r\n\x0b\x1c"); at >= 0 {
		return at + 1, data[:at], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// segmentName returns the name of a segment, or "" for a line that continues the previous segment.
func segmentName(line []byte) string {
	if len(line) < 4 || line[3] >= '0' && line[3] <= '9' || line[3]|0x20 >= 'a' && line[3]|0x20 <= 'z' || line[3] <= ' ' {
		return ""
	}
	return string(line[:3])
}
