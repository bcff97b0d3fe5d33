package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"svc/internal/admin/layout"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages use. Their paths contain a hash of the content, so browsers may cache them forever.
type assets struct {
	path  string // "/assets/<hash>"
	files map[string]asset
}

type asset struct {
	kind              string
	plain, compressed []byte
}

// assetKinds maps file extensions to content types, because the operating system's table may differ.
var assetKinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".woff2": "font/woff2", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// styleSheet is the name of the style sheet. The style sheet consists of the files in the folder css, in cascade
// order, followed by [placeRules] and [labelRules].
const styleSheet = "app.css"

var styleParts = []string{"base", "plan", "charts", "unit", "wall", "states", "pages", "integrations", "media"}

// sharedAssets returns the assets of this program, which all sites share.
var sharedAssets = sync.OnceValue(loadAssets)

func loadAssets() *assets {
	a := &assets{files: map[string]asset{}}
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		panic(err) // the files are embedded
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		content := readAsset(e.Name())
		if path.Ext(e.Name()) == ".js" {
			content = compact(content)
		}
		a.add(e.Name(), content)
	}
	a.add(styleSheet, compact(readStyles()))
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		sum.Write([]byte(name))
		sum.Write(a.files[name].plain)
	}
	a.path = "/assets/" + hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

func (a *assets) add(name string, content []byte) {
	a.files[name] = asset{assetKinds[path.Ext(name)], content, compress(content)}
}

func readAsset(name string) []byte {
	content, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the files are embedded
	}
	return content
}

// readStyles returns the concatenated parts of the style sheet.
func readStyles() []byte {
	var b bytes.Buffer
	for _, part := range styleParts {
		b.Write(readAsset("css/" + part + ".css"))
	}
	b.WriteString(placeRules())
	b.WriteString(labelRules())
	return b.Bytes()
}

// LargestLabelClass is the largest number in the classes of [labelRules].
const LargestLabelClass = 24

// labelRules returns the style rules for the widths of a room's label, which are classes for the same reason. Class l
// sets the width of the label on one line, and class d the width in which it fits on three lines, both in halves of
// the font size.
func labelRules() string {
	var b strings.Builder
	for n := range LargestLabelClass {
		fmt.Fprintf(&b, ".l%[1]d{--l:%[2]g}.d%[1]d{--d:%[2]g}\n", n+1, float64(n+1)/2) //nolint:mnd // halves
	}
	return b.String()
}

// placeRules returns the style rules that place rooms on a map. The rules use classes, because the
// Content-Security-Policy forbids inline styles. On a map, class c sets the number of columns, class n the number of
// rows with rooms, and class k the number of other rows. On a room or landmark, the classes x and y set the position,
// and w and h the size.
func placeRules() string {
	var b strings.Builder
	b.WriteString("@media (min-width: 900px) {\n")
	for n := range layout.MostCells {
		fmt.Fprintf(&b, ".c%[1]d{--c:%[1]d}.n%[1]d{--n:%[1]d}.k%[1]d{--k:%[1]d}.w%[1]d{--w:%[1]d}"+
			".x%[1]d{grid-column-start:%[1]d}.y%[1]d{grid-row-start:%[1]d}"+
			".drawn .w%[1]d{grid-column-end:span %[1]d}.h%[1]d{grid-row-end:span %[1]d}\n", n+1)
	}
	b.WriteString("}\n")
	return b.String()
}

// compact removes indentation, optional line breaks and comment lines from a script or a style sheet. In a script, a
// comment must be on its own line.
func compact(source []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(source) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || bytes.HasPrefix(line, []byte("//")) {
			continue
		}
		b.Write(line)
		if !bytes.ContainsAny(line[len(line)-1:], "{;,") {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// ServeAsset responds with a file that the pages use.
func (s *Site) ServeAsset(w http.ResponseWriter, r *http.Request) {
	file, ok := s.assets.files[path.Base(r.URL.Path)]
	if !ok || path.Dir(r.URL.Path) != s.assets.path {
		http.NotFound(w, r)
		return
	}
	body := file.plain
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", file.kind)
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && !strings.HasPrefix(file.kind, "font/") {
		body = file.compressed
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		w.Write(body) //nolint:errcheck // fails only if the client has disconnected
	}
}
