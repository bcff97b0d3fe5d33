package hl7

import (
	"bytes"
	"strconv"

	"svc/acuity"
)

// Batch is the content of one body: one message, or several with or without the segments
// of the batch protocol (FHS BHS BTS FTS).
type Batch struct {
	Messages [][]byte // each begins with its MSH
	Header   []byte   // the BHS segment or, without one, the FHS segment; nil if there is neither
	Charset  Charset  // character set, if the transport or the first bytes determine it
	Framed   bool     // whether the body has FHS or BHS; if so, the acknowledgment is also a batch
	Warnings []acuity.Warning
}

// Split splits a body at its headers. A header is at the start of a line, possibly after blanks and a byte order
// mark. transport is the character set that the transport declares. The only error is [ErrNoHeader].
func Split(body []byte, transport Charset) (Batch, error) {
	var b Batch
	body, b.Charset = narrow(body, transport)
	body = trimFrame(body)
	start, inBatch, batches := -1, 0, 0
	number, outside := 0, false // number: current line; outside: whether the previous line is outside any message
	count := func(line []byte, have int, path string) {
		said := bytes.TrimSpace(part(line, line[3], 2))
		if n, err := strconv.Atoi(string(said)); len(said) > 0 && (err != nil || n != have) {
			b.Warnings = append(b.Warnings, acuity.Warning{Code: warnBatchCount, Path: path})
		}
	}
	closeMessage := func(end int) {
		if start >= 0 {
			b.Messages = append(b.Messages, canonical(trimFrame(body[start:end])))
			inBatch++
		}
		start = -1
	}
	for pos := 0; pos < len(body); {
		end := lineEnd(body, pos)
		line := body[pos:end]
		line = line[blanks(line):]
		if len(line) > 0 {
			number++
		}
		isHeader := false
		if name, n := nameOf(line); n > 0 && n < len(line) && !isLetter(line[n]) && !isDigit(line[n]) && line[n] > ' ' {
			isHeader = true
			switch name {
			case "MSH":
				closeMessage(pos)
				start = end - len(line)
			case "FHS":
				closeMessage(pos)
				b.Framed = true
				if b.Header == nil {
					b.Header = canonical(line)
				}
			case "BHS":
				closeMessage(pos)
				if b.Framed, inBatch = true, 0; batches == 0 {
					b.Header = canonical(line)
				}
				batches++
			case "BTS":
				closeMessage(pos)
				count(canonical(line), inBatch, "BTS-1")
			case "FTS":
				closeMessage(pos)
				count(canonical(line), max(batches, 1), "FTS-1")
			default:
				isHeader = false
			}
		}
		if len(line) > 0 {
			outside = b.warnOutside(start < 0 && !isHeader, outside, number)
		}
		pos = end + 1
	}
	closeMessage(len(body))
	if len(b.Messages) == 0 {
		return Batch{}, ErrNoHeader
	}
	return b, nil
}

// warnOutside adds a warning for a line that is outside any message, that is, before the first MSH or after the end
// of a batch. Consecutive lines get only one warning: none is added if the previous line is also outside. The result
// reports whether the line is outside.
func (b *Batch) warnOutside(is, before bool, number int) bool {
	if is && !before && len(b.Warnings) < maxOdd {
		b.Warnings = append(b.Warnings, acuity.Warning{Code: warnLineIgnored, Path: position{segment: "line", repeat: number}.String()})
	}
	return is
}

// canonical returns a message or segment with its segment name in upper case and directly followed by the separator.
func canonical(text []byte) []byte {
	name, n := nameOf(text)
	if n == 0 || n == 3 && string(text[:3]) == name {
		return text
	}
	return append([]byte(name), text[n:]...)
}

// AppendBatch appends the acknowledgments of several messages as one batch. If the messages came in a batch, the
// sender and the receiver of that batch are swapped, as in an acknowledgment, and its BHS-11 becomes BHS-12.
func AppendBatch(dst []byte, b Batch, a Acknowledgment, acks [][]byte) []byte {
	var m Message
	if raw := append([]byte("MSH"), b.Header[min(3, len(b.Header)):]...); m.scan(raw) != nil {
		m.scan([]byte(`MSH|^~\&|`)) //nolint:errcheck // the text is a valid header
	}
	m.charset, m.charsetKnown = b.Charset, false
	m.resolveCharset()
	w := writer{dst, &m}
	w.header("BHS", &a)
	w.next(4)
	w.text(a.ID)
	if id := m.header(11); !isBlank(id) {
		w.next(1)
		w.field(id)
	}
	w.end()
	count := 0
	for _, ack := range acks {
		if len(ack) > 0 {
			w.put(ack)
			count++
		}
	}
	w.text("BTS")
	w.next(1)
	w.text(strconv.Itoa(count))
	w.end()
	return w.b
}
