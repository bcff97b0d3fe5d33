// Package logfiles checks the files of the embedded Kafka before they are opened. The broker is a test library that
// trusts its files and truncates everything after a damaged byte. After a kill, it may return records of transactions
// that never ended. So this package reads all files before the broker opens them. If it finds damage that it cannot
// repair, no file is changed.
//
//   - partitions/TOPIC-N/BASE.dat contains the records, in batches with checksums. An incomplete last batch is
//     removed and saved. Anything else that is not a batch is a [DamageError].
//   - BASE.idx states for each batch whether it belongs to a transaction. The batches have this information, too, so
//     the index is rewritten where it differs.
//   - groups.log contains the positions of consumer groups, each with a checksum. Damaged positions are omitted, so the
//     previous position of the group applies. If the records of a partition end before a position, its last records
//     were lost. Their offsets are filled, because readers would otherwise skip new records.
//   - topics.json has no checksum. [Seal] stores a copy that has one.
//   - meta.json contains the id of the cluster. All other files have no checksum and are useful only after a clean
//     shutdown. They are removed, so the broker always starts as if it had been killed.
//
// The folder "kept" contains the incomplete batches and the damaged versions of groups.log and topics.json that were
// removed or replaced.
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

// disposable lists the files that the broker can start without.
var disposable = map[string]bool{
	"snapshot.json": true, "session_state.json": true, "seq_windows.json": true, "pids.log": true,
	"acls.json": true, "sasl.json": true, "quotas.json": true, "broker_configs.json": true,
}

// Options configures the check.
type Options struct {
	Dir       string
	ClusterID string
	Filler    []byte // key of records that every reader skips
	Log       *slog.Logger
}

// DamageError is damage that cannot be repaired without data loss.
type DamageError struct {
	File string
	Byte int
	Lost string // the data that cannot be read
}

// Error names the file, the position and the remedy, on one line.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s cannot be read. Nothing was changed. "+
		"Restore a copy of the folder, or move the folder away to start with an empty one", e.File, e.Byte, e.Lost)
}

// mender reads all files before it changes any, and collects the changes.
type mender struct {
	Options
	stamp string
	names []string       // names of the partitions
	tasks []func() error // changes, which are made once everything has been read
}

func (m *mender) path(name string) string  { return filepath.Join(m.Dir, name) }
func (m *mender) todo(change func() error) { m.tasks = append(m.tasks, change) }

// Mend checks the files, and makes those changes that do not lose a record. The error is a [DamageError] or a file
// system error.
func Mend(o Options) error {
	m := &mender{Options: o, stamp: time.Now().UTC().Format("20060102T150405.000000Z")}
	if err := m.readAll(); err != nil {
		if damage, ok := errors.AsType[*DamageError](err); ok {
			return damage
		}
		return fmt.Errorf("check the log: %w", err)
	}
	for _, change := range m.tasks {
		if err := change(); err != nil {
			return fmt.Errorf("repair the log: %w", err)
		}
	}
	return nil
}

// readAll reads all files without changing any.
func (m *mender) readAll() error {
	dirs, err := os.ReadDir(m.path(partitionsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // the error names the file
	}
	for _, d := range dirs {
		if d.IsDir() {
			m.names = append(m.names, d.Name())
		}
	}
	known, err := m.mendTopics()
	if err != nil || !known {
		return err
	}
	committed, err := m.mendGroups()
	if err = errors.Join(err, m.sweep(), m.mendMeta()); err != nil {
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
		m.todo(func() error {
			p, err := m.read(name) // read again, because only one partition is kept in memory at a time
			if err != nil {
				return err
			}
			p.reach = reach[name]
			return m.mend(p)
		})
	}
	return nil
}

// sweep plans the removal of disposable files, and restricts the permissions of all other files and folders to their
// owner.
func (m *mender) sweep() error {
	return filepath.WalkDir(m.Dir, func(path string, d fs.DirEntry, err error) error { //nolint:wrapcheck // the error names the file
		if err != nil {
			return err
		}
		if !d.IsDir() && (disposable[d.Name()] || strings.HasSuffix(d.Name(), ".tmp")) && !strings.HasPrefix(path, m.path(keptDir)) {
			m.todo(func() error { return os.Remove(path) })
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err //nolint:wrapcheck // the error names the file
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

// keep saves bytes that a change removes, and returns the path of the copy.
func (m *mender) keep(name string, raw []byte) (string, error) {
	kept := filepath.Join(keptDir, m.stamp, name)
	if err := os.MkdirAll(filepath.Dir(m.path(kept)), 0o700); err != nil {
		return "", err //nolint:wrapcheck // the error names the file
	}
	return m.path(kept), m.write(kept, raw)
}

// write replaces a whole file atomically.
func (m *mender) write(name string, raw []byte) (err error) {
	temp := m.path(name) + ".tmp"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // in the folder that the user named
	if err != nil {
		return err //nolint:wrapcheck // the error names the file
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, m.path(name)) //nolint:wrapcheck // the error names the file
}
