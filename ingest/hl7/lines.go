package hl7

import (
	"bytes"
	"strings"
)

type lineKind uint8

const (
	lineBlank lineKind = iota
	lineContinued
	lineSegment
)

// kind distinguishes a segment from a continuation of the preceding field. A segment begins with its name followed by
// a separator, or consists only of the name. A standard segment name may be in lower case or surrounded by blanks,
// because free text does not begin with such a name. indent is the number of bytes before the name, or before the end
// of a blank line.
func (m *Message) kind(text []byte) (kind lineKind, indent int) {
	switch {
	case isTerminator(text[0]):
		return lineBlank, 0
	case len(text) >= 3 && isName(text) && (len(text) == 3 || text[3] == m.separator || isTerminator(text[3])):
		return lineSegment, 0
	}
	indent = blanks(text)
	rest := text[indent:]
	if len(rest) == 0 || isTerminator(rest[0]) {
		return lineBlank, indent
	}
	if _, n := nameOf(rest); n > 0 && n < len(rest) && rest[n] == m.separator {
		return lineSegment, indent
	}
	return lineContinued, 0
}

// nameOf returns the name of the HL7 segment or Z segment with which text begins, and the number of bytes up to the
// separator. Both are zero if text does not begin with such a name. The name may be in lower case and followed by
// blanks.
func nameOf(text []byte) (name string, n int) {
	if len(text) < 4 || !isLetter(text[0]) || !isLetter(text[1]) && !isDigit(text[1]) || !isLetter(text[2]) && !isDigit(text[2]) {
		return "", 0
	}
	if name = nameAt(text); name[0] != 'Z' && !segmentNames[name] {
		return "", 0
	}
	return name, 3 + blanks(text[3:])
}

// segmentNames contains the names of the segments of ADT messages and batches, and of some segments of other messages
// (HL7 v2.3 to v2.9).
var segmentNames = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`ABS ACC ADD AL1 ARV AUT BHS BLG BTS CON CTD CTI DB1 DG1 DRG DSC EVN FHS FT1 FTS GP1 GP2 GSP GSR
		GT1 IAM IAR IN1 IN2 IN3 IPC MRG MSA MSH NK1 NPU NTE OBR OBX OH1 OH2 OH3 OH4 ORC PD1 PDA PID PR1 PRT PV1 PV2 QRD QRF ROL
		RXA RXE RXO RXR SCH SFT SPM TQ1 TQ2 TXA UAC UB1 UB2 VAR`) {
		names[name] = true
	}
	return names
}()

// blanks returns the length of the blanks with which text begins: spaces, tabs, no-break spaces in UTF-8 or
// Windows-1252, and byte order marks.
func blanks(text []byte) int {
	rest := text
	for len(rest) > 0 {
		switch {
		case rest[0] == ' ', rest[0] == '\t', rest[0] == 0xa0:
			rest = rest[1:]
		case bytes.HasPrefix(rest, noBreakSpace):
			rest = rest[len(noBreakSpace):]
		case bytes.HasPrefix(rest, byteOrderMark):
			rest = rest[len(byteOrderMark):]
		default:
			return len(text) - len(rest)
		}
	}
	return len(text)
}

// noBreakSpace is the no-break space in UTF-8.
var noBreakSpace = []byte("\xc2\xa0")

func isName(line []byte) bool {
	return isUpper(line[0]) && (isUpper(line[1]) || isDigit(line[1])) && (isUpper(line[2]) || isDigit(line[2]))
}

// nameAt returns the segment name at the start of text, in upper case.
func nameAt(text []byte) string {
	var name [3]byte
	for i := range name {
		if name[i] = text[i]; name[i] >= 'a' && name[i] <= 'z' {
			name[i] &^= 0x20
		}
	}
	return string(name[:])
}

// terminators end a line. CR is the standard; LF and the MLLP framing bytes are also accepted.
const terminators = "\r\n\x0b\x1c"

// lineEnd returns the end of the line that begins at pos.
func lineEnd(raw []byte, pos int) int {
	if n := bytes.IndexAny(raw[pos:], terminators); n >= 0 {
		return pos + n
	}
	return len(raw)
}

func isTerminator(c byte) bool { return strings.IndexByte(terminators, c) >= 0 }

// byteOrderMark is the byte order mark in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")
