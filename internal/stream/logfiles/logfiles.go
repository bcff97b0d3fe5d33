// Package logfiles makes the files of the embedded Kafka fit to be opened. The broker
// is a library for tests: it trusts its files, and cuts off everything behind a
// damaged byte. After a kill it may show records of transactions that never ended. So
// all files are read here before the broker opens them. If damage remains that nothing
// can mend, no file is changed.
//
//   - partitions/TOPIC-N/BASE.dat holds the records, in batches with checksums. A damaged
//     header is restored from its place. A last batch that was not written whole is cut
//     off and kept. Any other damage is a [DamageError]. With Repair the damaged batch is
//     left out, its offsets are filled, and derived records are derived again.
//   - BASE.idx says for each batch whether it belongs to a transaction. The batches say
//     it too, so the index is written again where it differs.
//   - groups.log holds the positions of consumers, each with a checksum. Damaged ones are
//     left out, and earlier ones count. If a log ends before such a position, the machine
//     has lost its end. These offsets are filled, else readers would skip new records.
//   - topics.json has no checksum. [Seal] keeps a copy that has one.
//   - meta.json has the id of the cluster. All other files have no checksum, and only help
//     a broker that was closed in order. They are removed, so the broker always starts as
//     after a kill.
//
// Everything that a change removes is kept in the folder kept.
package logfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	partitionsDir = "partitions"
	keptDir       = "kept"
)

// disposable are the files of the broker that it can start without.
var disposable = map[string]bool{
	"snapshot.json": true, "session_state.json": true, "seq_windows.json": true, "pids.log": true,
	"acls.json": true, "sasl.json": true, "quotas.json": true, "broker_configs.json": true,
}

// Options say what to mend.
type Options struct {
	Dir       string
	ClusterID string
	Filler    []byte // key of records that every reader skips
	Repair    bool   // leave out what is damaged
	Log       *slog.Logger
}

// DamageError is damage that cannot be mended without a loss.
type DamageError struct {
	File  string
	Byte  int
	Lost  string // what cannot be read
	Final bool   // Repair does not help
	More  int    // further places
}

// Error names file, place and remedy, in one line.
func (e *DamageError) Error() string {
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf(" (and %d more places)", e.More)
	}
	remedy := "start once with --repair, which keeps a copy and goes on without them"
	if e.Final {
		remedy = "move the folder away, which starts with an empty one"
	}
	return fmt.Sprintf("%s is damaged at byte %d%s: %s cannot be read. Nothing was changed. Put back a copy of the folder, or %s",
		e.File, e.Byte, more, e.Lost, remedy)
}

// mender reads the files once, and collects the changes.
type mender struct {
	Options
	stamp string
	names []string // of the partitions
	found []*DamageError
	tasks []func() error // the changes, made once everything is read
}

func (m *mender) path(name string) string  { return filepath.Join(m.Dir, name) }
func (m *mender) todo(change func() error) { m.tasks = append(m.tasks, change) }

// Mend makes the files fit to be opened. The error is a [DamageError], or that of the file
// system.
func Mend(o Options) error {
	m := &mender{Options: o, stamp: time.Now().UTC().Format("20060102T150405.000000Z")}
	if err := m.readAll(); err != nil {
		return fmt.Errorf("check the log: %w", err)
	}
	if len(m.found) > 0 {
		first := m.found[0]
		for _, d := range m.found {
			if d.Final {
				first = d
			}
		}
		if first.More = len(m.found) - 1; first.Final || !m.Repair {
			return first
		}
	}
	for _, change := range m.tasks {
		if err := change(); err != nil {
			return fmt.Errorf("repair the log: %w", err)
		}
	}
	return nil
}

// readAll reads all files and changes none.
func (m *mender) readAll() error {
	dirs, err := os.ReadDir(m.path(partitionsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // names the file
	}
	for _, d := range dirs {
		if d.IsDir() {
			m.names = append(m.names, d.Name())
		}
	}
	known, err := m.topics()
	if err != nil || !known {
		return err
	}
	committed, err := m.groups()
	if err = errors.Join(err, m.sweep(), m.meta()); err != nil {
		return err
	}
	reach := map[string]int64{}
	for at, offset := range committed {
		reach[at.partition] = max(reach[at.partition], offset)
	}
	for _, name := range m.names {
		p, err := m.read(name)
		if err != nil {
			return err
		}
		p.reach = reach[name]
		if p.sound() {
			continue
		}
		found := p.damages(m)
		m.found = append(m.found, found...)
		if len(found) > 0 && p.derived {
			m.todo(m.forget)
		}
		m.todo(func() error {
			p, err := m.read(name) // again, because memory holds one partition at a time
			if err != nil {
				return err
			}
			p.reach = reach[name]
			return m.mend(p)
		})
	}
	return nil
}

// sweep plans the removal of disposable files, and takes all files from other users.
func (m *mender) sweep() error {
	return filepath.WalkDir(m.Dir, func(path string, d fs.DirEntry, err error) error { //nolint:wrapcheck // names the file
		if err != nil {
			return err
		}
		if !d.IsDir() && (disposable[d.Name()] || strings.HasSuffix(d.Name(), ".tmp")) && !strings.HasPrefix(path, m.path(keptDir)) {
			m.todo(func() error { return os.Remove(path) })
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err //nolint:wrapcheck // names the file
		}
		mode := os.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		if info.Mode().Perm() != mode {
			m.todo(func() error { return os.Chmod(path, mode) })
		}
		return nil
	})
}

// forget removes the committed positions. One may say that a derived log is read from an
// offset that is written again.
func (m *mender) forget() error {
	raw, err := m.load(groupsFile)
	if err != nil || raw == nil {
		return err
	}
	if _, err := m.keep(groupsFile, raw); err != nil {
		return err
	}
	return os.Remove(m.path(groupsFile)) //nolint:wrapcheck // names the file
}

// keep stores bytes that a change removes, and returns the path.
func (m *mender) keep(name string, raw []byte) (string, error) {
	kept := filepath.Join(keptDir, m.stamp, name)
	if err := os.MkdirAll(filepath.Dir(m.path(kept)), 0o700); err != nil {
		return "", err //nolint:wrapcheck // names the file
	}
	return m.path(kept), m.write(kept, raw)
}

// write replaces a whole file in one step.
func (m *mender) write(name string, raw []byte) (err error) {
	temp := m.path(name) + ".tmp"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // in the folder that the user named
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, m.path(name)) //nolint:wrapcheck // names the file
}
