package fhir

import (
	"slices"
	"sync"
)

// stores hold the parts of a body until its facts are made. No fact refers to them, so
// the next body reuses their memory, which is half of what a body needs.
type stores struct {
	containers  []container
	resources   []resource
	codings     []coding
	identifiers []identifier
	components  []component
	locations   []location
	concepts    []concept
	ingredients []ingredient
	names       [][]byte // field names of the current resource
}

// maxKept is for how many resources, and parts of them, memory is kept: some 3 MB. The
// memory of larger bodies, which are rare, is freed.
const maxKept = 4096

var spare = sync.Pool{New: func() any { return new(stores) }}

// newStores returns empty stores for a body of size bytes. Their capacity is a guess that
// saves most of the growing: a resource with its claims and reports takes 2 KiB.
func newStores(size int) *stores {
	s, ok := spare.Get().(*stores)
	if !ok {
		s = new(stores) // cannot happen
	}
	s.resources = slices.Grow(s.resources, min(1+size>>11, MaxResources))
	return s
}

// stored counts the parts of resources.
func (s *stores) stored() int {
	return len(s.codings) + len(s.identifiers) + len(s.components) + len(s.locations) + len(s.concepts) + len(s.ingredients)
}

// release returns the memory for reuse, without anything of the body.
func (s *stores) release() {
	if max(cap(s.resources), cap(s.names), s.stored()) > maxKept {
		return
	}
	clear(s.resources)
	clear(s.names[:cap(s.names)])
	*s = stores{
		containers: s.containers[:0], resources: s.resources[:0], codings: s.codings[:0], identifiers: s.identifiers[:0], components: s.components[:0],
		locations: s.locations[:0], concepts: s.concepts[:0], ingredients: s.ingredients[:0], names: s.names[:0],
	}
	spare.Put(s)
}
