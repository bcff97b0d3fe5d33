package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/internal/httpapi"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/rules"
)

//go:embed page.html
var pageText string

// pageOf writes the page of documentation.
func pageOf(operations []contract.Operation, c capabilities) ([]byte, error) {
	var shown map[string]json.RawMessage
	if err := json.Unmarshal(answers, &shown); err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	type group struct {
		Name       string
		Operations []contract.Operation
	}
	var groups []group
	for _, o := range operations {
		i := slices.IndexFunc(groups, func(g group) bool { return g.Name == o.Group })
		if i < 0 {
			i, groups = len(groups), append(groups, group{Name: o.Group})
		}
		groups[i].Operations = append(groups[i].Operations, o)
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"curl": curl,
		"answer": func(o contract.Operation) string {
			var text bytes.Buffer
			if raw, ok := shown[o.ID]; !ok || json.Indent(&text, raw, "", "  ") != nil {
				return ""
			}
			return text.String()
		},
		"refusals": func(o contract.Operation) []httpapi.Kind {
			all := o.Refusals()
			slices.SortFunc(all, func(a, b httpapi.Kind) int { return a.Status() - b.Status() })
			return all
		},
		"join": func(all []string) string { return strings.Join(all, " ") },
		"text": http.StatusText,
	}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, map[string]any{"Groups": groups, "Can": c, "Kinds": httpapi.Kinds(), "Rules": rules.All}); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return out.Bytes(), nil
}

// curl returns an example request as a command line.
func curl(o contract.Operation) string {
	var b strings.Builder
	b.WriteString("curl -s")
	if o.Method != http.MethodGet && (o.Method != http.MethodPost || len(o.Bodies) == 0) {
		b.WriteString(" -X " + o.Method)
	}
	path, query, headers := o.Path, url.Values{}, ""
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", p.Example)
		case p.Needed && p.In == "query":
			query.Set(p.Name, p.Example)
		case p.Needed && p.In == "header":
			headers += " \\\n  -H '" + p.Name + ": " + p.Example + "'"
		}
	}
	if len(query) > 0 {
		path = "'" + path + "?" + query.Encode() + "'"
	}
	b.WriteString(" $SVC" + path + headers)
	if o.Scope != "" || o.Keyed {
		b.WriteString(` -H "Authorization: Bearer $KEY"`)
	}
	if len(o.Bodies) == 0 || len(o.Bodies[0].Examples) == 0 {
		return b.String()
	}
	body := o.Bodies[0]
	b.WriteString(" \\\n  -H 'Content-Type: " + body.Type + "' ")
	if text := body.Examples[0].Text; body.Shape == nil {
		b.WriteString("--data-binary $'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\r", `\r`).Replace(text) + "'")
	} else {
		b.WriteString("-d '" + strings.ReplaceAll(text, "'", `'\''`) + "'")
	}
	return b.String()
}
