package logfiles

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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
	derived  bool  // written in transactions, so derived from another log
	end      int64 // offset after its last record
	reach    int64 // maximum committed offset of a consumer group
}

// segment is one file of batches.
type segment struct {
	file     string // path within the folder, without extension
	base     int64  // base offset from the file name: the offset of its first record
	end      int64  // offset after its last record, including damaged ones
	raw      []byte
	batches  []batch // intact or restored
	restored bool    // the header of a batch was restored
	torn     int     // length of the incomplete batch at the end
	damage   []damage
	indexed  bool // the index agrees with the batches
}

// damage is a range of a segment that cannot be read.
type damage struct {
	at         int   // byte position
	before     int   // number of batches before it
	first, end int64 // lost offsets; equal: their number is unknown
}

// read reads all batches of a partition.
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
		s.parse(following)
		index, err := os.ReadFile(m.path(s.file + indexExt))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err //nolint:wrapcheck // the error names the file
		}
		s.indexed = s.agrees(index)
		p.end = s.end
		p.derived = p.derived || slices.ContainsFunc(s.batches, func(b batch) bool { return b.attributes()&transactional != 0 })
	}
	return p, nil
}

// parse finds the batches of a segment and the damage between them. following is the base offset of the next segment,
// or -1.
func (s *segment) parse(following int64) {
	next := s.base
	for at := 0; at < len(s.raw); {
		rest := s.raw[at:]
		if b, ok := intact(rest); ok && b.first() == next {
			s.batches, next, at = append(s.batches, b), b.end(), at+len(b)
			continue
		}
		until := resume(rest, next)
		whole, then := rest, following
		if until >= 0 {
			whole, then = rest[:until], batch(rest[until:]).first()
		}
		if b, ok := restoreHeader(whole, next); ok && (then < 0 || b.end() == then) {
			s.batches, s.restored, next, at = append(s.batches, b), true, b.end(), at+len(b)
			continue
		}
		if then < 0 && torn(rest) {
			s.torn = len(rest)
			break
		}
		if then < 0 {
			then = next + claimed(rest)
		}
		s.damage = append(s.damage, damage{at: at, before: len(s.batches), first: next, end: then})
		next, at = then, at+len(whole)
	}
	if following >= 0 && following != next { // a segment is missing, or two overlap
		s.damage = append(s.damage, damage{at: len(s.raw), before: len(s.batches), first: next, end: following})
		next = following
	}
	s.end = next
}

// torn reports whether the end of a file is an incomplete batch, whose write was interrupted when the process or the
// machine stopped. The broker never acknowledged such a batch.
func torn(rest []byte) bool {
	return len(rest) < headerBytes || batch(rest).size() > len(rest) || len(bytes.Trim(rest, "\x00")) == 0
}

// claimed returns the number of records in the header of a damaged batch, or 0 if the header is inconsistent or the
// batch is too short for that many.
func claimed(raw []byte) int64 {
	if len(raw) < headerBytes {
		return 0
	}
	if n := batch(raw).counts(); n <= recordsPerByte*int64(len(raw)) {
		return n
	}
	return 0
}

// sound reports whether the files need no change.
func (p *partition) sound() bool {
	return p.end >= p.reach && !slices.ContainsFunc(p.segments, func(s *segment) bool {
		return len(s.damage) > 0 || s.torn > 0 || s.restored || !s.indexed
	})
}

// damages lists the damage that cannot be repaired without data loss.
func (p *partition) damages(m *mender) (all []*DamageError) {
	for _, s := range p.segments {
		for _, d := range s.damage {
			lost := "records from offset " + strconv.FormatInt(d.first, 10) + " on"
			if d.end > d.first {
				lost = fmt.Sprintf("the records at offsets %d to %d", d.first, d.end-1)
			}
			all = append(all, &DamageError{File: m.path(s.file + segmentExt), Byte: d.at, Lost: lost + " of " + p.name})
		}
	}
	return all
}

// mend repairs the files of a partition. Only damaged records are lost; their offsets are filled.
func (m *mender) mend(p *partition) error {
	hit := slices.IndexFunc(p.segments, func(s *segment) bool { return len(s.damage) > 0 })
	switch {
	case hit >= 0 && p.derived:
		if err := m.truncateDerived(p, hit); err != nil {
			return err
		}
	default:
		for _, s := range p.segments {
			if err := m.replace(s, m.mended(s)); err != nil {
				return err
			}
		}
	}
	reach := p.reach
	p, err := m.read(p.name)
	if err != nil {
		return err
	}
	if p.end < reach && len(p.segments) > 0 {
		m.Log.Error("end of a log lost in a crash of the machine", "partition", p.name, "end", p.end, "read_up_to", reach)
		s := p.segments[len(p.segments)-1]
		if err = m.write(s.file+segmentExt, append(s.raw, filling(m.Filler, p.end, reach, s.timeAt(len(s.batches)))...)); err != nil {
			return err
		}
		if p, err = m.read(p.name); err != nil {
			return err
		}
	}
	for _, s := range p.segments {
		if err := m.write(s.file+indexExt, s.index()); err != nil {
			return err
		}
	}
	if found := p.damages(m); len(found) > 0 {
		return found[0]
	}
	return nil
}

// mended returns the repaired content of a segment.
func (m *mender) mended(s *segment) []byte {
	raw := make([]byte, 0, len(s.raw))
	done := 0
	for _, d := range s.damage {
		for _, b := range s.batches[done:d.before] {
			raw = append(raw, b...)
		}
		raw = append(raw, filling(m.Filler, d.first, d.end, s.timeAt(d.before))...)
		done = d.before
	}
	for _, b := range s.batches[done:] {
		raw = append(raw, b...)
	}
	return raw
}

// timeAt returns the approximate maximum timestamp before a batch.
func (s *segment) timeAt(i int) int64 {
	switch {
	case i > 0:
		return s.batches[i-1].time()
	case len(s.batches) > 0:
		return s.batches[0].time()
	}
	return 0
}

// truncateDerived keeps the records of a derived log before its first damage. All later offsets are filled, and their
// records are derived again from the source log. If the start of the log was already deleted, no record is kept.
func (m *mender) truncateDerived(p *partition, hit int) error {
	at := hit
	if p.segments[0].base > 0 {
		at = 0
	}
	emptied := func(s *segment, keep int) []byte {
		var raw []byte
		first := s.base
		for _, b := range s.batches[:keep] {
			raw, first = append(raw, b...), b.end()
		}
		return append(raw, filling(m.Filler, first, s.end, s.timeAt(keep))...)
	}
	// The damaged segment is truncated last, so that the next start still finds the damage if the process ends in
	// between.
	for i, s := range p.segments {
		if i >= at && i != hit {
			if err := m.replace(s, emptied(s, 0)); err != nil {
				return err
			}
		}
	}
	s := p.segments[hit]
	keep := 0
	if at == hit {
		keep = s.damage[0].before
	}
	return m.replace(s, emptied(s, keep))
}

// replace replaces the content of a segment and saves the previous content.
func (m *mender) replace(s *segment, raw []byte) error {
	name := s.file + segmentExt
	switch {
	case bytes.Equal(raw, s.raw):
		return nil
	case len(s.damage) == 0 && bytes.HasPrefix(s.raw, raw):
		kept, err := m.keep(name+"."+strconv.Itoa(len(raw)), s.raw[len(raw):])
		if err != nil {
			return err
		}
		m.Log.Warn("incomplete end of a log removed", "file", m.path(name), "byte", len(raw), "kept", kept)
		return os.Truncate(m.path(name), int64(len(raw))) //nolint:wrapcheck // the error names the file
	}
	kept, err := m.keep(name, s.raw)
	if err != nil {
		return err
	}
	if len(s.damage) == 0 && s.restored {
		m.Log.Warn("damaged log header restored without loss", "file", m.path(name), "kept", kept)
	} else {
		m.Log.Warn("damaged log repaired", "file", m.path(name), "kept", kept)
	}
	return m.write(name, raw)
}

// The index has an entry of 15 bytes for each batch: version, the low byte of a checksum of the rest, epoch, the
// maximum timestamp before it (the broker recomputes it), and whether the batch belongs to a transaction.
const (
	indexEntry   = 15
	indexVersion = 1
)

// index returns the index that matches the batches. The broker appends to the index after the batch. After a kill
// between the two writes, it would apply each entry to the next batch, and show records of a transaction that never
// ended.
func (s *segment) index() []byte {
	all := make([]byte, 0, indexEntry*len(s.batches))
	for _, b := range s.batches {
		entry := [indexEntry]byte{0: indexVersion}
		binary.LittleEndian.PutUint32(entry[2:], leaderEpoch)
		binary.LittleEndian.PutUint64(entry[6:], uint64(b.time())) //nolint:gosec // as stored
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
