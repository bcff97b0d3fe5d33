package mllp_test

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"svc/ingest/mllp"
)

// all reads a stream to its end. It returns the messages, the faults and the final error.
func all(in io.Reader, limit int) (messages, faults []string, err error) {
	r := mllp.NewReader(in, limit)
	for {
		message, err := r.Next()
		if err != nil {
			for _, f := range mllp.Faults() {
				for range r.Count(f) {
					faults = append(faults, f.String())
				}
			}
			return messages, faults, err
		}
		messages = append(messages, string(message))
	}
}

func TestFrames(t *testing.T) {
	for name, tt := range map[string]struct {
		stream   string
		messages []string
		faults   []string
		err      error
	}{
		"nothing":                   {"", nil, nil, io.EOF},
		"one":                       {"\x0bMSH|1\r\x1c\r", []string{"MSH|1\r"}, nil, io.EOF},
		"two":                       {"\x0bA\r\x1c\r\x0bB\r\x1c\r", []string{"A\r", "B\r"}, nil, io.EOF},
		"line ends between":         {"\r\n\x0bA\x1c\r\n\r\n\x0bB\x1c\r\n", []string{"A", "B"}, nil, io.EOF},
		"LF for CR at the end":      {"\x0bA\x1c\n\x0bB\x1c\r", []string{"A", "B"}, []string{"no_return"}, io.EOF},
		"no CR at the end":          {"\x0bA\x1c\x0bB\x1c\r", []string{"A", "B"}, []string{"no_return"}, io.EOF},
		"no CR, end of stream":      {"\x0bA\x1c", []string{"A"}, nil, io.EOF},
		"no end":                    {"\x0bA\r\x0bMSH|B\r\x1c\r", []string{"A\r", "MSH|B\r"}, []string{"no_end"}, io.EOF},
		"no end, a batch follows":   {"\x0bA\r\x0bFHS|B\r\x1c\r", []string{"A\r", "FHS|B\r"}, []string{"no_end"}, io.EOF},
		"no end, blanks and marks":  {"\x0bA\r\x0b \xef\xbb\xbf\xc2\xa0msh|B\r\x1c\r", []string{"A\r", " \xef\xbb\xbf\xc2\xa0msh|B\r"}, []string{"no_end"}, io.EOF},
		"no end, inside a line":     {"\x0bMSH|b\x0bMSH|bc\r\x1c\r", []string{"MSH|bc\r"}, []string{"cut"}, io.EOF},
		"0x0B in a text":            {"\x0bMSH|a\x0bb\r\x1c\r\x0bMSH|2\r\x1c\r", []string{"MSH|a\x0bb\r", "MSH|2\r"}, nil, io.EOF},
		"0x0B at the end of a line": {"\x0bMSH|a\r\x0bDG1|1\r\x1c\r", []string{"MSH|a\r\x0bDG1|1\r"}, nil, io.EOF},
		"0x0B before the end":       {"\x0bMSH|a\x0b\x1c\r", []string{"MSH|a\x0b"}, nil, io.EOF},
		"0x0B before a word":        {"\x0bMSH|a\x0bMSHALL|\x0bMS\r\x1c\r", []string{"MSH|a\x0bMSHALL|\x0bMS\r"}, nil, io.EOF},
		"0x0B and the stream ends":  {"\x0bMSH|a\x0bM", nil, []string{"cut"}, io.ErrUnexpectedEOF},
		"twice begun":               {"\x0b\x0bA\x1c\r", []string{"A"}, []string{"noise"}, io.EOF},
		"no start":                  {"MSH|1\r\x1c\rMSH|2\r\x1c\r", []string{"MSH|1\r", "MSH|2\r"}, []string{"no_start", "no_start"}, io.EOF},
		"no start, batch":           {"FHS|1\rBHS|1\rMSH|2\r\x1c\r", []string{"FHS|1\rBHS|1\rMSH|2\r"}, []string{"no_start"}, io.EOF},
		"noise":                     {"GET / HTTP/1.1\r\n\x0bA\x1c\r", []string{"A"}, []string{"noise"}, io.EOF},
		"noise between":             {"\x0bA\x1c\rnoise\x0bB\x1c\r", []string{"A", "B"}, []string{"noise"}, io.EOF},
		"noise alone":               {"noise", nil, []string{"noise", "cut"}, io.ErrUnexpectedEOF},
		"0x1C inside":               {"\x0bA\x1cB\r\x1c\r", []string{"A\x1cB\r"}, nil, io.EOF},
		"empty frame":               {"\x0b\x1c\r\x0bA\x1c\r", []string{"", "A"}, nil, io.EOF},
		"breaks off":                {"\x0bA\r", nil, []string{"cut"}, io.ErrUnexpectedEOF},
		"breaks off at the start":   {"\x0b", nil, []string{"cut"}, io.ErrUnexpectedEOF},
		"breaks off without start":  {"MS", nil, []string{"cut"}, io.ErrUnexpectedEOF},
		"as long as the limit":      {"\x0b" + strings.Repeat("x", 64) + "\x1c\r", []string{strings.Repeat("x", 64)}, nil, io.EOF},
		"longer than the limit":     {"\x0b" + strings.Repeat("x", 65) + "\x1c\r", nil, []string{"cut"}, mllp.ErrTooLong},
		"noise beyond the limit":    {strings.Repeat("x", 5000), nil, []string{"noise", "cut"}, mllp.ErrTooLong},
		"no end, beyond the limit":  {"\x0b" + strings.Repeat("x", 9000), nil, []string{"cut"}, mllp.ErrTooLong},
		"other bytes are untouched": {"\x0b\xff\xfe\x00|\n\t\x1c\r", []string{"\xff\xfe\x00|\n\t"}, nil, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			messages, faults, err := all(strings.NewReader(tt.stream), 64)
			if !slices.Equal(messages, tt.messages) || !slices.Equal(faults, tt.faults) || !errors.Is(err, tt.err) {
				t.Errorf("got  %q %q %v\nwant %q %q %v", messages, faults, err, tt.messages, tt.faults, tt.err)
			}
		})
	}
}

// TestSlowFrames sends one byte at a time, so each 0x0D arrives after the message has been returned.
func TestSlowFrames(t *testing.T) {
	messages, faults, err := all(iotest.OneByteReader(strings.NewReader("\x0bA\r\x1c\r\x0bB\r\x1c\x0bC\x1c\n")), 64)
	if !slices.Equal(messages, []string{"A\r", "B\r", "C"}) || !slices.Equal(faults, []string{"no_return", "no_return"}) || !errors.Is(err, io.EOF) {
		t.Errorf("%q %q %v", messages, faults, err)
	}
}

// TestFramesComeBack: a reader returns the messages that Append framed, however the network splits the stream.
func TestFramesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOf(rapid.StringMatching(`MSH[^\x0b\x1c]{0,40}`)).Draw(t, "messages")
		var stream []byte
		for _, m := range sent {
			stream = mllp.Append(stream, []byte(m))
		}
		for _, in := range []io.Reader{bytes.NewReader(stream), iotest.HalfReader(bytes.NewReader(stream)), iotest.OneByteReader(bytes.NewReader(stream))} {
			got, faults, err := all(in, 1000)
			if !slices.Equal(got, sent) || len(faults) > 0 || !errors.Is(err, io.EOF) {
				t.Fatalf("%q, want %q, faults %q, %v", got, sent, faults, err)
			}
		}
	})
}

// TestVerticalTabInMessage: a 0x0B inside a message is data unless a header follows it, however the network splits
// the stream.
func TestVerticalTabInMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SampledFrom([]string{"\x0b", "\x0b", "M", "S", "H", "MSH", "FHS", "DG1|1", "\r", " ", "\xc2\xa0", "x"})
		text := "MSH|" + strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "text"), "") + "|x\r"
		if regexp.MustCompile(`(?i)\x0b[ \t\r\n\xa0\x{c2}]*(MSH|FHS|BHS)[^a-zA-Z0-9\x00-\x20]`).MatchString(strings.ToValidUTF8(text, "")) {
			return // a header follows
		}
		stream := mllp.Append(nil, []byte(text))
		for _, in := range []io.Reader{bytes.NewReader(stream), iotest.HalfReader(bytes.NewReader(stream)), iotest.OneByteReader(bytes.NewReader(stream))} {
			got, faults, err := all(in, 1000)
			if len(got) != 1 || got[0] != text || len(faults) > 0 || !errors.Is(err, io.EOF) {
				t.Fatalf("%q is read as %q, faults %q, %v", text, got, faults, err)
			}
		}
	})
}

// FuzzReader: for any bytes, reading yields messages within the limit and then one error. A returned message can be
// framed and read again.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"\x0bMSH|^~\\&|1\r\x1c\r", "\x0bA\x1c\x0bB\r\x0bC\x1c\n", "\x0bMSH|a\x0bb\r\x1c\r", "\x0bMSH|a\r\x0bMSH|b\r\x1c\r", "\x0bA\x0b \xef\xbb\xbfms", "MSH|\r\x1c", "noise\x0b\x0b\x1c\r", "\x0b\x1cA\x1c\r\x0b",
	} {
		f.Add([]byte(seed))
	}
	const limit = 100
	f.Fuzz(func(t *testing.T, stream []byte) {
		messages, _, err := all(bytes.NewReader(stream), limit)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, mllp.ErrTooLong) {
			t.Fatalf("%v", err)
		}
		for _, m := range messages {
			if len(m) > limit+1 {
				t.Fatalf("message %q", m)
			}
			if strings.ContainsAny(m, "\x0b\x1c") {
				continue // ordinary data, because of the bytes that follow the 0x0B or arrived together with the 0x1C
			}
			again, _, err := all(bytes.NewReader(mllp.Append(nil, []byte(m))), limit+1)
			if len(again) != 1 || again[0] != m || !errors.Is(err, io.EOF) {
				t.Fatalf("%q comes back as %q, %v", m, again, err)
			}
		}
	})
}
