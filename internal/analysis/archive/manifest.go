package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"svc/internal/analysis/tables"
	"svc/internal/stream"
)

// Plan defines an export by its options and by the offsets of each partition. It is created when the export starts,
// so records that are written to the topic later are not exported.
type Plan struct {
	Topic     string        `json:"topic"` // name of the topic, including its prefix
	Table     string        `json:"table"`
	Format    tables.Format `json:"format"`
	Hospitals []string      `json:"hospitals"` // ascending; empty: all
	From      *time.Time    `json:"from"`      // null: from the beginning
	To        *time.Time    `json:"to"`        // null: up to the end of the log when the export began
	Spans     []Piece       `json:"partitions"`
	Segment   int64         `json:"segmentOffsets"` // offsets per segment
}

// Piece is a range of offsets in one partition, as the manifest represents it.
type Piece struct {
	Partition int32 `json:"partition"`
	From      int64 `json:"from"`
	End       int64 `json:"end"` // first offset after the piece
}

// compare orders pieces by their place in the log.
func (p Piece) compare(o Piece) int {
	return cmp.Or(cmp.Compare(p.Partition, o.Partition), cmp.Compare(p.From, o.From))
}

// File is one file of an export.
type File struct {
	Path      string `json:"path"` // relative to the folder of the manifest
	Hospital  string `json:"hospital"`
	Date      string `json:"date"` // UTC date of the timestamps of the file's records
	Partition int32  `json:"partition"`
	First     int64  `json:"firstOffset"`
	Last      int64  `json:"lastOffset"`
	Rows      int64  `json:"rows"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
}

// Unread is a record that could not be decoded.
type Unread struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
}

// Counts are the numbers of records that an export has read, by outcome. Read is the sum of the other numbers.
type Counts struct {
	Read      int64 `json:"read"`
	Rows      int64 `json:"rows"`
	Others    int64 `json:"ofOtherHospitals"`
	State     int64 `json:"state"` // changelog records without a row: state, and changes that repeat an earlier change
	Undecoded int64 `json:"undecoded"`
}

func (c *Counts) add(o *Counts) {
	c.Read, c.Rows, c.Others, c.State, c.Undecoded = c.Read+o.Read, c.Rows+o.Rows, c.Others+o.Others, c.State+o.State, c.Undecoded+o.Undecoded
}

// Manifest lists the contents of a complete export. It does not contain the time or the place of the export, so the
// same records always produce the same manifest.
type Manifest struct {
	Plan
	Counts Counts `json:"records"`
	// Compacted is the number of changes that Kafka has compacted away: the versions that are missing from the export. It
	// does not include those before the first exported version of a hospital if the plan has a From.
	Compacted int64    `json:"compactedChanges"`
	Undecoded []Unread `json:"undecoded"` // all undecodable records, by partition and offset
	Files     []File   `json:"files"`     // by path
}

// segment is the result of exporting one [Piece].
type segment struct {
	Piece
	Counts    Counts   `json:"records"`
	Undecoded []Unread `json:"undecoded,omitempty"`
	Files     []File   `json:"files"`

	Versions map[string]*versions `json:"versions,omitempty"` // by hospital
}

// versions are the versions of a hospital in a segment.
type versions struct {
	First   int64 `json:"first"`
	Last    int64 `json:"last"`
	Missing int64 `json:"missing,omitempty"` // number of versions between them that the segment lacks
}

// add adds a version, and reports whether it is new.
func (v *versions) add(version int64) bool {
	switch {
	case v.Last == 0:
		v.First = version
	case version <= v.Last: // the record repeats an earlier change
		return false
	default:
		v.Missing += version - v.Last - 1
	}
	v.Last = version
	return true
}

// Names of files in an export folder. Programs that read data folders (pyarrow, pandas, Spark) ignore names that
// begin with an underscore.
const (
	manifestName = "_manifest.json"
	journalName  = "_export.journal"
	lockName     = "_export.lock"
	partialExt   = ".partial"
)

// The errors of an export to a folder that is in use.
var (
	// ErrOther means that the folder contains an export with different options.
	ErrOther = errors.New("the folder contains a different export")
	// ErrBusy means that another process is writing an export to the folder.
	ErrBusy = errors.New("another export is writing to the folder")
)

// ReadManifest reads the manifest of a folder. The error wraps [fs.ErrNotExist] if the folder does not contain a
// complete export.
func ReadManifest(dir string) (*Manifest, error) {
	content, err := os.ReadFile(filepath.Join(dir, manifestName)) //nolint:gosec // the file is in the folder that the user named
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", filepath.Join(dir, manifestName), err)
	}
	if m.Table == "" {
		return nil, fmt.Errorf("read manifest %s: the file is not from svc export", filepath.Join(dir, manifestName))
	}
	return &m, nil
}

// write writes the manifest to the folder with an atomic rename.
func (m *Manifest) write(dir string) error {
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := writeWhole(filepath.Join(dir, manifestName), append(content, '\n')); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// writeWhole writes a file under a temporary name, and renames it once the content is on disk. After a crash, the
// file is therefore either complete or missing.
func writeWhole(name string, content []byte) error {
	f, err := os.Create(name + partialExt) //nolint:gosec // the file is in the folder that the user named
	if err != nil {
		return err //nolint:wrapcheck // the error names the file
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// sameQuestion reports whether two plans have the same options. It ignores the offsets.
func (p *Plan) sameQuestion(o *Plan) bool {
	a, b := *p, *o
	a.Spans, b.Spans = nil, nil
	return a.text() == b.text()
}

func (p Plan) text() string {
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Sum checks the files of a manifest against their digests. The error names the first file that does not match.
func (m *Manifest) Sum(dir string) error {
	for i := range m.Files {
		f := &m.Files[i]
		if !filepath.IsLocal(f.Path) {
			return fmt.Errorf("the path %q leads outside the folder", f.Path)
		}
		in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Path))) //nolint:gosec // the file is in the folder that the user named
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("check export: %s is missing", f.Path)
		}
		if err != nil {
			return fmt.Errorf("check export: %w", err)
		}
		sum := sha256.New()
		_, err = io.Copy(sum, in)
		in.Close() //nolint:errcheck // the file was only read
		if err != nil {
			return fmt.Errorf("check export: %w", err)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, f.SHA256) {
			return fmt.Errorf("check export: %s has changed since it was written", f.Path)
		}
	}
	return nil
}

// pieces splits the spans into segments.
func (p *Plan) pieces() (all []Piece) {
	for _, s := range p.Spans {
		for at := s.From; at < s.End; at += p.Segment {
			all = append(all, Piece{s.Partition, at, min(at+p.Segment, s.End)})
		}
	}
	return all
}

func piecesOf(spans []stream.Span) []Piece {
	all := make([]Piece, len(spans))
	for i, s := range spans {
		all[i] = Piece(s)
	}
	return all
}
