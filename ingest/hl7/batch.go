package hl7

import (
	"bytes"
	"strconv"

	"svc/acuity"
)

// Batch is what one body holds: one message, or several with or without the
// segments of the batch protocol (FHS BHS BTS FTS).
type Batch struct {
	Messages [][]byte // each from its MSH on
	Header   []byte   // the BHS segment; nil if there is none
	Framed   bool     // FHS or BHS was there: the answer is a batch too
	Warnings []acuity.Warning
}

// Split takes a body apart at its headers. The only error is [ErrNoHeader].
func Split(body []byte) (Batch, error) {
	var b Batch
	body = trimFrame(body)
	text := lines{raw: body}
	start, inBatch := -1, 0
	closeMessage := func(end int) {
		if start >= 0 {
			b.Messages = append(b.Messages, trimFrame(body[start:end]))
			inBatch++
		}
		start = -1
	}
	for pos := 0; pos < len(body); {
		end := text.end(pos)
		line := body[pos:end]
		if len(line) > 3 && !letter(line[3]) && !digit(line[3]) && line[3] > ' ' {
			switch string(line[:3]) {
			case "MSH":
				closeMessage(pos)
				start = pos
			case "FHS":
				closeMessage(pos)
				b.Framed = true
			case "BHS":
				closeMessage(pos)
				b.Framed, inBatch = true, 0
				if b.Header == nil {
					b.Header = line
				}
			case "BTS":
				closeMessage(pos)
				count := bytes.TrimSpace(part(line, line[3], 2))
				if n, err := strconv.Atoi(string(count)); len(count) > 0 && (err != nil || n != inBatch) {
					b.Warnings = append(b.Warnings, acuity.Warning{Code: "batch_count", Path: "BTS-1"})
				}
			case "FTS":
				closeMessage(pos)
			}
		}
		pos = end + 1
	}
	closeMessage(len(body))
	if len(b.Messages) == 0 {
		return Batch{}, ErrNoHeader
	}
	return b, nil
}
