package integrations

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// How many files one process imports at once. A file takes up to a few tens of MiB while it is read
// and tried. Our defaults.
const (
	importsPerHospital = 2
	importsAtMost      = 8
	importRetryAfter   = 5 * time.Second
)

// imports counts the files that are being imported, so that they neither exhaust the memory nor
// delay other hospitals. The zero value is ready to use.
type imports struct {
	mu        sync.Mutex
	all       int
	hospitals map[string]int // without those that import nothing
}

// begin counts an import of a hospital until end is called. If there are too many, end is nil and
// status and key say why: 429 and the hospital's share, or 503 and the capacity of the process.
func (i *imports) begin(hospital string) (end func(), status int, key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.hospitals[hospital] >= importsPerHospital:
		return nil, http.StatusTooManyRequests, "fault.imports"
	case i.all >= importsAtMost:
		return nil, http.StatusServiceUnavailable, "fault.importsbusy"
	case i.hospitals == nil:
		i.hospitals = map[string]int{}
	}
	i.all++
	i.hospitals[hospital]++
	return func() { i.end(hospital) }, 0, ""
}

func (i *imports) end(hospital string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all--
	if i.hospitals[hospital]--; i.hospitals[hospital] == 0 {
		delete(i.hospitals, hospital)
	}
}

// beginImport begins an import before its form is read. It returns nil after it has answered that
// there are too many.
func (d *adminRequest) beginImport() (end func()) {
	end, status, key := d.imports.begin(d.session.Hospital)
	if end != nil {
		return end
	}
	// A browser reads the answer only after it has sent the file.
	io.Copy(io.Discard, http.MaxBytesReader(d.w, d.r.Body, importFormAtMost)) //nolint:errcheck // the refusal is the same
	d.w.Header().Set("Retry-After", strconv.Itoa(int(importRetryAfter.Seconds())))
	d.ShowFault(d.w, d.r, status, d.session, key)
	return nil
}
