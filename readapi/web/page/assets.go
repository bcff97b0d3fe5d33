package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages use. Their path names their content, so a browser may
// keep them for ever.
type assets struct {
	path  string // "/assets/<hash>"
	files map[string]asset
}

type asset struct {
	kind              string
	plain, compressed []byte
}

// assetKinds are the types of files by their ending. What the machine says may differ.
var assetKinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".woff2": "font/woff2", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
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
			content = dropComments(content)
		}
		a.files[e.Name()] = asset{assetKinds[path.Ext(e.Name())], content, compress(content)}
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		sum.Write([]byte(name))
		sum.Write(a.files[name].plain)
	}
	a.path = "/assets/" + hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// dropComments removes indentation from a script, and lines that are comments.
func dropComments(script []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(script) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// ServeAsset answers with a file that the pages use.
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
		w.Write(body) //nolint:errcheck // nobody is there to be told
	}
}
