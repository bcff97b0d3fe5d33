package facts

import "maps"

// Table contains the records of one kind, by key, and tracks which of them are not yet in the changelog. A deleted record
// leaves a tombstone until the deletion is written.
type Table[K comparable, R Record] struct {
	Rows map[K]R
	Key  func(K) []byte // returns a record's key in the changelog; the result is valid until the next call

	changed []K // changed keys, in the order of their first change since the last WriteDirty
	isDirty map[K]struct{}
}

// Set sets a record.
func (t *Table[K, R]) Set(k K, r R) {
	t.Rows[k] = r
	t.Touch(k)
}

// Delete deletes a record.
func (t *Table[K, R]) Delete(k K) {
	delete(t.Rows, k)
	t.Touch(k)
}

// Touch marks a record as changed, for a caller that has changed the record in place.
func (t *Table[K, R]) Touch(k K) {
	if t.isDirty == nil {
		t.isDirty = map[K]struct{}{}
	}
	if _, there := t.isDirty[k]; !there {
		t.isDirty[k] = struct{}{}
		t.changed = append(t.changed, k)
	}
}

// Erase removes the record with the given changelog key, without a tombstone, because the changelog already has one.
func (t *Table[K, R]) Erase(key string) {
	maps.DeleteFunc(t.Rows, func(k K, _ R) bool { return string(t.Key(k)) == key })
}

// Write writes all records.
func (t *Table[K, R]) Write(write func(key []byte, s Record)) {
	for k, r := range t.Rows {
		write(t.Key(k), r)
	}
}

// WriteDirty writes the records that changed since the last call, and nil for those that have been deleted.
func (t *Table[K, R]) WriteDirty(write func(key []byte, s Record)) {
	for _, k := range t.changed {
		if r, there := t.Rows[k]; there {
			write(t.Key(k), r)
		} else {
			write(t.Key(k), nil)
		}
	}
	t.changed = Emptied(t.changed)
	if clear(t.isDirty); cap(t.changed) == 0 {
		t.isDirty = nil // releases the memory of a large batch of changes
	}
}
