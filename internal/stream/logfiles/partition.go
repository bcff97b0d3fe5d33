package logfiles

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	segmentExt = ".dat"
	indexExt   = ".idx"
)

// partition holds the files of one partition.
type partition struct {
	name     string // TOPIC-NUMBER
	segments []*segment
	end      int64 // offset after the last record
	reach    int64 // maximum committed offset of a consumer group
}

// segment is one file of batches.
type segment struct {
	file    string // path within the folder, without extension
	base    int64  // base offset from the file name: the offset of its first record
	end     int64  // offset after the last record
	raw     []byte
	batches []batch
	torn    int  // length of the incomplete batch at the end
	indexed bool // whether the index agrees with the batches
}

// read reads all batches of a partition. An incomplete batch at the end of the partition is allowed; any other bytes
// that are not a batch result in a [DamageError].
func (m *mender) read(name string) (*partition, error) {
	p := &partition{name: name}
	dir := filepath.Join(partitionsDir, name)
	entries, err := os.ReadDir(m.path(dir))
	if err != nil {
		return nil, err //nolint:wrapcheck // the error names the file
	}
	for _, entry := range entries {
		base, fault := strconv.ParseInt(strings.TrimSuffix(entry.Name(), segmentExt), 10, 64)
		if fault == nil { // other files are not segments
			p.segments = append(p.segments, &segment{file: filepath.Join(dir, strconv.FormatInt(base, 10)), base: base})
		}
	}
	slices.SortFunc(p.segments, func(a, b *segment) int { return int(a.base - b.base) })
	for i, s := range p.segments {
		if s.raw, err = os.ReadFile(m.path(s.file + segmentExt)); err != nil {
			return nil, err //nolint:wrapcheck // the error names the file
		}
		following := int64(-1)
		if i+1 < len(p.segments) {
			following = p.segments[i+1].base
		}
		if at, damaged := s.parse(following); damaged {
			lost := "the records from offset " + strconv.FormatInt(s.end, 10) + " on of " + p.name
			return nil, &DamageError{File: m.path(s.file + segmentExt), Byte: at, Lost: lost}
		}
		index, err := os.ReadFile(m.path(s.file + indexExt))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err //nolint:wrapcheck // the error names the file
		}
		s.indexed = s.agrees(index)
		p.end = s.end
	}
	return p, nil
}

// parse splits a segment into its batches, and reports whether the segment is damaged, and at which byte. following
// is the base offset of the next segment, or -1 if there is none.
func (s *segment) parse(following int64) (at int, damaged bool) {
	s.end = s.base
	for at < len(s.raw) {
		b, ok := intact(s.raw[at:])
		if !ok || b.first() != s.end {
			break
		}
		s.batches, s.end, at = append(s.batches, b), b.end(), at+len(b)
	}
	switch rest := s.raw[at:]; {
	case following >= 0:
		return at, len(rest) > 0 || s.end != following // a segment is missing, or two segments overlap
	case len(rest) > 0 && !torn(rest, s.end):
		return at, true
	default:
		s.torn = len(rest)
		return at, false
	}
}

// torn reports whether the end of a file is an incomplete batch, whose write was interrupted when the process or the
// machine stopped. The broker never acknowledged such a batch. next is the offset that such a batch would have.
func torn(rest []byte, next int64) bool {
	short := len(rest) < headerBytes || batch(rest).size() > len(rest) || len(bytes.Trim(rest, "\x00")) == 0
	return short && !isFollowed(rest, next)
}

// sound reports whether the files can remain unchanged.
func (p *partition) sound() bool {
	return p.end >= p.reach && !slices.ContainsFunc(p.segments, func(s *segment) bool { return s.torn > 0 || !s.indexed })
}

// mend removes an incomplete batch at the end, fills offsets that were lost although a consumer group has committed
// them, and rewrites the indexes.
func (m *mender) mend(p *partition) error {
	for i, s := range p.segments {
		if s.torn > 0 {
			if err := m.cutEnd(s); err != nil {
				return err
			}
		}
		if i == len(p.segments)-1 && p.end < p.reach {
			m.Log.Error("end of a log lost in a machine crash", "partition", p.name, "end", p.end, "read_up_to", p.reach)
			s.raw = append(s.raw, filling(m.Filler, p.end, p.reach, s.newest())...)
			if err := m.write(s.file+segmentExt, s.raw); err != nil {
				return err
			}
			s.batches = nil
			s.parse(-1)
		}
		if err := m.write(s.file+indexExt, s.index()); err != nil {
			return err
		}
	}
	return nil
}

// cutEnd removes the incomplete batch at the end of a segment, and saves it.
func (m *mender) cutEnd(s *segment) error {
	name, end := s.file+segmentExt, len(s.raw)-s.torn
	kept, err := m.keep(name+"."+strconv.Itoa(end), s.raw[end:])
	if err != nil {
		return err
	}
	m.Log.Warn("incomplete end of a log removed", "file", m.path(name), "byte", end, "kept", kept)
	s.raw, s.torn = s.raw[:end], 0
	return os.Truncate(m.path(name), int64(end)) //nolint:wrapcheck // the error names the file
}

// newest returns the maximum timestamp of the last batch, or 0 if there is none.
func (s *segment) newest() int64 {
	if n := len(s.batches); n > 0 {
		return s.batches[n-1].time()
	}
	return 0
}

// The index has an entry of 15 bytes for each batch: version, the low byte of a checksum of the rest, epoch, the
// maximum timestamp of the earlier batches, and whether the batch belongs to a transaction. The broker recomputes the
// timestamp, so its value does not matter.
const (
	indexEntry   = 15
	indexVersion = 1
)

// index returns the index that matches the batches. The broker writes a batch before its index entry. A broker that
// was killed between the two writes would later apply each entry to the wrong batch, and show records of a
// transaction that never ended.
func (s *segment) index() []byte {
	all := make([]byte, 0, indexEntry*len(s.batches))
	for _, b := range s.batches {
		entry := [indexEntry]byte{0: indexVersion}
		binary.LittleEndian.PutUint32(entry[2:], leaderEpoch)
		binary.LittleEndian.PutUint64(entry[6:], uint64(b.time())) //nolint:gosec // the bits are unchanged
		if b.pending() {
			entry[14] = 1
		}
		entry[1] = checkByte(entry[2:])
		all = append(all, entry[:]...)
	}
	return all
}

func checkByte(b []byte) byte { return byte(crc32.Checksum(b, castagnoli) & 0xff) }

// agrees reports whether an index matches the batches.
func (s *segment) agrees(index []byte) bool {
	if len(index) != indexEntry*len(s.batches) {
		return false
	}
	for i, b := range s.batches {
		entry := index[i*indexEntry:][:indexEntry]
		if entry[0] != indexVersion || entry[1] != checkByte(entry[2:]) ||
			binary.LittleEndian.Uint32(entry[2:]) != leaderEpoch || entry[14]&1 != 0 != b.pending() {
			return false
		}
	}
	return true
}
