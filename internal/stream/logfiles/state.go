package logfiles

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"slices"
)

const (
	metaFile   = "meta.json"
	topicsFile = "topics.json"
	sealedFile = "topics.sealed"
	groupsFile = "groups.log"
)

// Seal stores a copy of the topic list with a checksum, which the broker's own file lacks. Call it when the list is
// complete.
func Seal(dir string) error {
	m := &mender{Options: Options{Dir: dir}}
	list, err := os.ReadFile(m.path(topicsFile))
	if err != nil {
		return err //nolint:wrapcheck // the error names the file
	}
	return m.write(sealedFile, sealed(list))
}

// Unseal removes the copy of the topic list that [Seal] stored. Call it before the topic list changes.
func Unseal(dir string) error {
	err := os.Remove((&mender{Options: Options{Dir: dir}}).path(sealedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err //nolint:wrapcheck // the error names the file
}

func sealed(list []byte) []byte {
	return append(fmt.Appendf(nil, "%08x\n", crc32.Checksum(list, castagnoli)), list...)
}

// mendTopics schedules the restore of the topic list from its sealed copy if they differ. It reports whether there is
// a list. If there is no intact copy, mendTopics returns a [DamageError] for a list that cannot be decoded, and for a
// missing list if there are partitions.
func (m *mender) mendTopics() (bool, error) {
	list, err := m.load(topicsFile)
	if err != nil {
		return false, err
	}
	copied, err := m.load(sealedFile)
	if err != nil {
		return false, err
	}
	if _, whole, ok := bytes.Cut(copied, []byte("\n")); ok && bytes.Equal(copied, sealed(whole)) {
		if !sameTopics(list, whole) {
			m.todo(func() error {
				kept, err := m.keep(topicsFile, list)
				if err != nil {
					return err
				}
				m.Log.Warn("damaged list of topics restored without loss", "file", m.path(topicsFile), "kept", kept)
				return m.write(topicsFile, whole)
			})
		}
		return true, nil
	}
	var known struct {
		Topics []struct{ Name string }
	}
	if json.Unmarshal(list, &known) != nil && (list != nil || len(m.names) > 0) {
		return false, &DamageError{File: m.path(topicsFile), Lost: "the list of topics"}
	}
	return list != nil, nil
}

// sameTopics reports whether two lists contain the same topics. The broker writes them in arbitrary order when it
// stops.
func sameTopics(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var lists [2]struct {
		Version int
		Topics  []map[string]any
	}
	if json.Unmarshal(a, &lists[0]) != nil || json.Unmarshal(b, &lists[1]) != nil {
		return false
	}
	for _, list := range lists {
		slices.SortFunc(list.Topics, func(a, b map[string]any) int { return cmp.Compare(fmt.Sprint(a["name"]), fmt.Sprint(b["name"])) })
	}
	return reflect.DeepEqual(lists[0], lists[1])
}

// mendMeta schedules writing the file that identifies the folder to the broker.
func (m *mender) mendMeta() error {
	want := fmt.Appendf(nil, `{"version":1,"cluster_id":%q}`, m.ClusterID)
	have, err := m.load(metaFile)
	if err != nil || bytes.Equal(have, want) {
		return err
	}
	m.todo(func() error { return m.write(metaFile, want) })
	return nil
}

// mendGroups schedules the removal of damaged positions, and returns the intact positions. A group whose last
// position was damaged resumes at its previous position, so its reader gets some records again and must skip them.
func (m *mender) mendGroups() (map[position]int64, error) {
	raw, err := m.load(groupsFile)
	if err != nil {
		return nil, err
	}
	whole, lost := entries(raw)
	if lost > 0 {
		m.todo(func() error {
			kept, err := m.keep(groupsFile, raw)
			if err != nil {
				return err
			}
			m.Log.Warn("damaged committed positions replaced by earlier ones", "file", m.path(groupsFile), "places", lost, "kept", kept)
			return m.write(groupsFile, whole)
		})
	}
	return positions(whole), nil
}

// position identifies a group's position in a partition.
type position struct {
	group, partition string
}

// positions returns the last committed offset of each group in each partition, from the intact entries of the log.
// Deleted positions are omitted.
func positions(whole []byte) map[position]int64 {
	all := map[position]int64{}
	for len(whole) > 0 {
		end := 8 + int(binary.LittleEndian.Uint32(whole))
		var e struct {
			Type      string `json:"type"`
			Group     string `json:"g"`
			Topic     string `json:"t"`
			Partition int32  `json:"p"`
			Offset    int64  `json:"o"`
		}
		if json.Unmarshal(whole[entryHeader:end], &e) == nil {
			at := position{e.Group, fmt.Sprintf("%s-%d", url.PathEscape(e.Topic), e.Partition)}
			switch e.Type {
			case "commit":
				all[at] = e.Offset
			case "delete":
				delete(all, at)
			}
		}
		whole = whole[end:]
	}
	return all
}

// entryHeader is the total size of the length, checksum and version of an entry, in bytes.
const entryHeader = 10

// entries returns the intact entries of one of the broker's state logs, such as groups.log, and the number of damaged
// entries. An entry consists of its length, a checksum of the rest, a version and JSON.
func entries(raw []byte) (whole []byte, lost int) {
	const version = 1
	for at, good := 0, true; at < len(raw); {
		rest := raw[at:]
		if len(rest) > entryHeader && binary.LittleEndian.Uint16(rest[8:]) == version && rest[entryHeader] == '{' {
			if end := 8 + int64(binary.LittleEndian.Uint32(rest)); end > entryHeader && end <= int64(len(rest)) &&
				binary.LittleEndian.Uint32(rest[4:]) == crc32.Checksum(rest[8:end], castagnoli) {
				whole, at, good = append(whole, rest[:end]...), at+int(end), true
				continue
			}
		}
		if good {
			lost++
		}
		at, good = at+1, false
	}
	return whole, lost
}

// load reads a file, or returns nil if it does not exist.
func (m *mender) load(name string) ([]byte, error) {
	raw, err := os.ReadFile(m.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err //nolint:wrapcheck // the error names the file
}
