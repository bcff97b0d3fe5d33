package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.html"))

// page is what every page has.
type page struct {
	*writer
	Page     string // that is current in the navigation
	Title    string
	Hospital string
	Session  *Session // nil: nobody is signed in
	Several  bool     // the person may look at several hospitals
	Base     string   // of the paths of its hospital
	Assets   string   // where they lie
	Theme    string   // that the person chose; "": that of the system
	Auto     bool     // the theme changes with the hour
	Events   string   // stream that the page follows; "": none
	Whole    bool     // it is fetched anew after each change, as the stream has no parts of it
	State    string   // of the unit that the page shows, as the stream names it
	Held     string   // "stopped" or "old": it does not show the present
	Refresh  int      // seconds after which a browser without scripts asks again; 0: never
	Clock    string   // of the unit
}

// refreshEvery is after how many seconds a browser without scripts asks again.
const refreshEvery = 30

// follow has the page follow a stream.
func (f *page) follow(u *Unit, events string, whole bool) {
	f.Events, f.Whole, f.State, f.Held, f.Refresh = events, whole, stateID(u), u.held(), refreshEvery
}

// notice is a page of a few words.
type notice struct {
	page
	Heading, Say string
	Token        string // of a link that signs in
	Button       string
	Provider     string      // link to the identity provider; "": there is none, or it does not answer
	ProviderSays string      // its words
	Steps        []firstStep // to a first record
	Wall         bool        // it has no links
}

// firstStep is one of the steps that lead an empty hospital to its first picture.
type firstStep struct{ Say, Command string }

// firstSteps leads a hospital of which nothing was recorded.
func firstSteps(p *texts, hospital string) []firstStep {
	const post = `curl $SVC/api/ingest/%s -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '%s'`
	return []firstStep{
		{p.T("none.key"), "svc keys mint --hospital " + hospital + " --name first --scopes ingest:census,ingest:staffing"},
		{p.T("none.census"), fmt.Sprintf(post, "census", `{"totalRooms":12,"rooms":[{"roomId":1,"roomLabel":"LDR 1","area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)},
		{p.T("none.staffing"), fmt.Sprintf(post, "staffing", `{"nursesOnDuty":3,"callStaffAvailable":false}`)},
	}
}

// render writes a template of a page. The templates are ours, and write into memory.
func render(name string, data any) []byte {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// policy allows the pages nothing that does not come from here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svc"

// secure sets what every answer of the pages says to the browser.
func secure(h http.Header, https bool) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if https {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// write answers with a page, or that it is as the browser has it. A page is bound to its
// session: no cache keeps it.
func (s *site) write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
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
		body = zipped(body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) //nolint:errcheck // nobody is there to be told
	}
}

// zippers are kept, as each has a megabyte of memory.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	z := zippers.Get().(*gzip.Writer) //nolint:errcheck,forcetypeassert // the pool has nothing else
	defer zippers.Put(z)
	z.Reset(&b)
	z.Write(body) //nolint:errcheck // memory
	z.Close()     //nolint:errcheck // memory
	return b.Bytes()
}

// assets are the files that pages use, under a path that names their content: they may
// be kept for ever.
type assets struct {
	path  string // "/assets/<hash>"
	files map[string]asset
}

type asset struct {
	kind          string
	plain, zipped []byte
}

func loadAssets() *assets {
	a := &assets{files: map[string]asset{}}
	sum := sha256.New()
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		panic(err) // embedded
	}
	for _, e := range entries {
		content, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err) // embedded
		}
		if path.Ext(e.Name()) == ".js" {
			content = lean(content)
		}
		kind := mime.TypeByExtension(path.Ext(e.Name()))
		switch path.Ext(e.Name()) { // not what the machine says
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".woff2":
			kind = "font/woff2"
		case ".svg":
			kind = "image/svg+xml"
		case ".txt":
			kind = "text/plain; charset=utf-8"
		}
		a.files[e.Name()] = asset{kind, content, zipped(content)}
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		sum.Write([]byte(name))
		sum.Write(a.files[name].plain)
	}
	a.path = "/assets/" + hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// lean leaves out indentation and lines that are comments.
func lean(script []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(script) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	file, ok := a.files[path.Base(r.URL.Path)]
	if !ok || path.Dir(r.URL.Path) != a.path {
		http.NotFound(w, r)
		return
	}
	body := file.plain
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", file.kind)
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && !strings.HasPrefix(file.kind, "font/") {
		body = file.zipped
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		w.Write(body) //nolint:errcheck // nobody is there to be told
	}
}
