package integrations

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The limits on concurrent imports in one process, which are defaults of this project. Reading and previewing a file
// can take tens of MiB of memory.
const (
	importsPerHospital = 2
	importsAtMost      = 8
	importRetryAfter   = 5 * time.Second
)

// imports counts running imports, to limit the memory that they use and their effect on other hospitals. The zero
// value is ready to use.
type imports struct {
	mu        sync.Mutex
	all       int
	hospitals map[string]int // number of running imports by hospital; never 0
}

// begin counts an import of a hospital as running until end is called. If a limit is reached, end is nil. In that
// case, status is 429 for the hospital's limit or 503 for the limit of the process, and key is the text key of the
// reason.
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

// beginImport counts an import before its form is read. If a limit is reached, it sends an error response and returns
// nil.
func (d *adminRequest) beginImport() (end func()) {
	end, status, key := d.imports.begin(d.session.Hospital)
	if end != nil {
		return end
	}
	// Browsers read the response only after they have sent the whole file.
	io.Copy(io.Discard, http.MaxBytesReader(d.w, d.r.Body, importFormAtMost)) //nolint:errcheck // a failure does not change the response
	d.w.Header().Set("Retry-After", strconv.Itoa(int(importRetryAfter.Seconds())))
	d.ShowFault(d.w, d.r, status, d.session, key)
	return nil
}
