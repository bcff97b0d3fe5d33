package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"svc/internal/httpapi"
)

// policy is the Content-Security-Policy of the pages. It allows only content from the same origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svc"

// SetHeaders sets the headers that every response of the pages has.
func (s *Site) SetHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if s.config.Secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// RefuseCrossOrigin refuses forms that are submitted from other sites. It also refuses forms without an origin, which
// the standard library accepts because programs send them. These pages are only for browsers.
func (s *Site) RefuseCrossOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := s.Cookies.ReadSession(r) // the session is nil if the person is unknown
		if session != nil {
			httpapi.Identify(r.Context(), session.Hospital, session.User)
		}
		if err == nil && s.LimitPages(w, r, session) {
			return
		}
		s.Refuse(r, session, "cross_site")
		s.ShowFault(w, r, http.StatusForbidden, nil, "fault.origin")
	}))
	guarded := guard.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}
		guarded.ServeHTTP(w, r)
	})
}

// WritePage responds with a page, or with 304 if the browser already has the same page. It compresses the page if the
// browser accepts gzip.
func WritePage(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding, Accept-Language, Cookie")
	if status == http.StatusOK {
		sum := sha256.Sum256(body)
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body = compress(body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) //nolint:errcheck // fails only if the client has disconnected
	}
}

// compressors pools gzip writers, because each one uses a megabyte of memory.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer) //nolint:errcheck,forcetypeassert // the pool holds only compressors
	defer compressors.Put(z)
	z.Reset(&b)
	z.Write(body) //nolint:errcheck // writes to memory
	z.Close()     //nolint:errcheck // writes to memory
	return b.Bytes()
}
