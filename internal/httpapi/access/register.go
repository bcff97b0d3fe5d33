package access

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"
)

// Register holds all keys and hospitals for lookups. The reader of the settings topic updates it. A Register is safe
// for concurrent use.
type Register struct {
	now func() time.Time

	mu        sync.RWMutex
	byHash    map[[sha256.Size]byte]*Key
	byID      map[string]*Key
	lineages  map[string][]*Key // newest key last
	hospitals map[string]tenant
}

type tenant struct {
	Hospital
	zone *time.Location
}

// NewRegister returns an empty register. now is the clock by which keys expire.
func NewRegister(now func() time.Time) *Register {
	return &Register{
		now: now, byHash: map[[sha256.Size]byte]*Key{}, byID: map[string]*Key{},
		lineages: map[string][]*Key{}, hospitals: map[string]tenant{},
	}
}

// Lookup returns the key of a token, and reports whether the key may be used now. It returns the zero Key if no key
// has the token.
func (r *Register) Lookup(token string) (Key, bool) {
	hash := Hash(token)
	r.mu.RLock()
	key := r.byHash[hash]
	r.mu.RUnlock()
	if key == nil {
		return Key{}, false
	}
	return *key, key.Valid(r.now())
}

// SetKey stores a new or changed key.
func (r *Register) SetKey(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key.ID)
	r.byID[key.ID], r.byHash[key.Hash] = &key, &key
	line := append(r.lineages[key.Lineage()], &key)
	slices.SortFunc(line, byAge)
	r.lineages[key.Lineage()] = line
}

// DropKey removes a key.
func (r *Register) DropKey(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(id)
}

func (r *Register) drop(id string) {
	old := r.byID[id]
	if old == nil {
		return
	}
	delete(r.byHash, old.Hash)
	delete(r.byID, id)
	line := slices.DeleteFunc(r.lineages[old.Lineage()], func(k *Key) bool { return k == old })
	if r.lineages[old.Lineage()] = line; len(line) == 0 {
		delete(r.lineages, old.Lineage())
	}
}

// SetHospital stores a new or changed hospital.
func (r *Register) SetHospital(h Hospital) {
	zone, err := time.LoadLocation(h.Zone)
	if err != nil {
		zone = time.UTC // the zone was valid when it was written, but is unknown on this machine
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hospitals[h.ID] = tenant{h, zone}
}

// DropHospital removes a hospital.
func (r *Register) DropHospital(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.hospitals, id)
}

// Hospital returns a hospital by its id.
func (r *Register) Hospital(id string) (Hospital, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h, ok := r.hospitals[id]
	return h.Hospital, ok
}

// Zone returns the time zone of a hospital, or UTC if the hospital is unknown.
func (r *Register) Zone(hospital string) *time.Location {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if h, ok := r.hospitals[hospital]; ok {
		return h.zone
	}
	return time.UTC
}

// Sender returns the settings for the messages of a key: those for the key itself or, if there are none, the last
// ones in the list for a key in the same lineage. If there are none for the lineage either, Sender returns the
// settings of standard HL7.
func (r *Register) Sender(key *Key) Sender {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found := Sender{Key: key.ID}
	for _, s := range r.hospitals[key.Hospital].Senders {
		if s.Key == key.ID {
			return s
		}
		if k := r.byID[s.Key]; k != nil && k.Lineage() == key.Lineage() {
			found = s
		}
	}
	return found
}

// Current returns the newest valid key in the lineage of the key with the given id, so a setting that names a key
// remains valid after a rotation. If no key in the lineage is valid, Current returns the named key and false; if the
// id is unknown, it returns the zero Key and false.
func (r *Register) Current(id string) (Key, bool) {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	named := r.byID[id]
	if named == nil {
		return Key{}, false
	}
	for _, key := range slices.Backward(r.lineages[named.Lineage()]) {
		if key.Hospital == named.Hospital && key.Valid(now) {
			return *key, true
		}
	}
	return *named, false
}

// Source returns the lineage that a key belongs to, and the name of the newest key in it. ok is
// false if the hospital has no such key.
func (r *Register) Source(hospital, id string) (lineage, name string, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	line := r.lineages[id] // id may be that of the first key of a lineage, which the register may have removed
	if key := r.byID[id]; key != nil {
		line = r.lineages[key.Lineage()]
	}
	for _, key := range slices.Backward(line) {
		if key.Hospital == hospital {
			return key.Lineage(), key.Name, true
		}
	}
	return "", "", false
}

// Key returns a key by its id, even if the key is no longer valid.
func (r *Register) Key(id string) (Key, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if key := r.byID[id]; key != nil {
		return *key, true
	}
	return Key{}, false
}

// Keys returns the keys of a hospital, oldest first. If hospital is empty, it returns the keys of all hospitals.
func (r *Register) Keys(hospital string) []Key {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var keys []Key
	for _, key := range r.byID {
		if hospital == "" || key.Hospital == hospital {
			keys = append(keys, *key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return byAge(&a, &b) })
	return keys
}

// byAge orders keys oldest first.
func byAge(a, b *Key) int {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// Hospitals returns all hospitals, ordered by id.
func (r *Register) Hospitals() []Hospital {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var hospitals []Hospital
	for _, h := range r.hospitals {
		hospitals = append(hospitals, h.Hospital)
	}
	slices.SortFunc(hospitals, func(a, b Hospital) int { return strings.Compare(a.ID, b.ID) })
	return hospitals
}
