package integrations

import (
	"net/http"
	"net/url"
	"strings"
)

// codePage shows the candidate factors for a code, and the effect of a mapping.
type codePage struct {
	adminPage
	Code        codeRow
	CodeKind    string // kind, as the API names it
	Suggestions []suggestionRow
	Factors     []option
	Kinds       []option
	Ops         []option
	Row         *mapRow // current row of the map; nil: none
	Effect      *effect // effect of the mapping; nil: not requested
	Before      string  // factor of the row before the last change; "": the row is new
	Undo        bool    // whether to offer an undo, because the row was just created or changed
	Status      string
}

type suggestionRow struct {
	ID, Name, Why string
	Chosen        bool
}

// readCode returns a code from the worklist. For a code that is not on the worklist, it returns only system, code and
// kind. If it returns false, it has sent an error response.
func readCode(d *adminRequest, system, code, kind string) (c apiCode, ok bool) {
	var list codeList
	if _, ok = d.read(worklistAPI+"?"+url.Values{"code": {code}}.Encode(), &list); !ok {
		return c, false
	}
	if found := list.find(system, kind); found != nil {
		return *found, true
	}
	return apiCode{System: system, Code: code, Kind: kind}, true
}

// showCodeOfQuery shows the code that the query parameters identify.
func showCodeOfQuery(d *adminRequest) {
	q := d.r.URL.Query()
	showCode(d, q.Get("system"), q.Get("code"), q.Get("kind"))
}

// kindsOfCodes are the kinds of facts in which a code can occur; "" means any.
var kindsOfCodes = []string{"", "medication", "observation", "lab", "device", "diagnosis"}

// mappingFields are the form fields of one code mapping.
var mappingFields = []formField{
	{name: "factor", label: "terms.factor", path: "factorId"},
	{name: "comment", label: "terms.comment"},
	{name: "rowkind", path: "kind"},
	{name: "op", path: "value.op"},
	{name: "than", path: "value.than"},
}

// showCode shows one code.
func showCode(d *adminRequest, system, code, kind string) {
	if code == "" {
		d.showNotFound()
		return
	}
	c, ok := readCode(d, system, code, kind)
	if !ok {
		return
	}
	all, ok := mappingList.read(d)
	if !ok {
		return
	}
	out := codePage{adminPage: d.newPage("terms.code"), Code: newCodeRow(d, &c), CodeKind: c.Kind, Effect: d.effect, Status: c.Status}
	out.Tabs, out.Heading = listTermTabs(d, ""), d.T("terms.code.of", "code", c.Code)
	values, now := url.Values{"rowkind": {c.Kind}}, url.Values{}
	if len(c.Suggestions) > 0 {
		values.Set("factor", c.Suggestions[0].FactorID)
	}
	if row := findMapping(d, all, system, code, c.Kind); row != nil {
		shown := newMapRow(d, row)
		out.Version, out.Row = formatVersion(row.Version), &shown
		now = url.Values{"factor": {row.FactorID}, "comment": {row.Comment}}
		values = url.Values{"factor": {row.FactorID}, "rowkind": {textOrEmpty(row.Kind)}, "comment": {row.Comment}}
		if row.Value != nil {
			values.Set("op", row.Value.Op)
			values.Set("than", row.Value.Than.String())
		}
		if out.Done != "" {
			out.Undo, out.Before = true, d.r.URL.Query().Get("before")
		}
	}
	d.useForm(&out.adminPage, values, now, mappingFields...)
	chooseFactor(d, &out, &c)
	d.show("terms.code", &out)
}

// findMapping returns the map row to show on the page of a code, or nil if there is none. After a form was submitted,
// the row must have the entered kind and value. Otherwise, the row must have the id in the query or, if the query has
// no id, apply to the kind of the code.
func findMapping(d *adminRequest, all []apiMapping, system, code, kind string) (row *apiMapping) {
	typed, id := d.r.PostForm, d.r.URL.Query().Get("id")
	for i := range all {
		m := &all[i]
		is := m.Kind == nil || *m.Kind == kind
		if typed != nil {
			is = m.same(system, code, typed.Get("rowkind"), typed.Get("op"), strings.TrimSpace(typed.Get("than")))
		} else if id != "" {
			is = m.ID == id
		}
		if is && m.System == system && m.Code == code {
			row = m
		}
	}
	return row
}

// showCodeEffect shows a code with the API's response to a dry run.
func showCodeEffect(d *adminRequest, would *acted, system, code, kind string, show func(*adminRequest)) {
	if c, ok := readCode(d, system, code, kind); ok {
		d.effect = newEffect(d, would, c.Rooms)
		show(d)
	}
}

// chooseFactor fills in the options of a code's page: the factors to which the code may be mapped, and the kinds and
// comparison operators of a mapping.
func chooseFactor(d *adminRequest, out *codePage, c *apiCode) {
	chosen := out.Form.Value("factor")
	suggested := chosen == noFactor
	for _, s := range c.Suggestions {
		reason := d.Or("terms.reason."+strings.ReplaceAll(s.Reason, "_", ""), s.Reason)
		why := d.T("terms.why", "score", s.Score, "reason", reason)
		out.Suggestions = append(out.Suggestions, suggestionRow{s.FactorID, nameFactor(d, s.FactorID), why, s.FactorID == chosen})
		suggested = suggested || s.FactorID == chosen
	}
	out.Suggestions = append(out.Suggestions, suggestionRow{noFactor, d.T("terms.nothing"), d.T("terms.nothing.about"), chosen == noFactor})
	if suggested {
		chosen = ""
	}
	out.Factors = listFactors(d, chosen)
	for _, kind := range kindsOfCodes {
		name := d.T("kind.any")
		if kind != "" {
			name = d.Or("kind."+kind, kind)
		}
		out.Kinds = append(out.Kinds, option{kind, name, kind == out.Form.Value("rowkind")})
	}
	for _, op := range []string{"", "<", "<=", ">", ">="} {
		out.Ops = append(out.Ops, option{op, op, op == out.Form.Value("op")})
	}
}

// readMappingForm returns the map row from a submitted form, in the API's format.
func readMappingForm(f url.Values) map[string]any {
	factor := f.Get("factor")
	if other := f.Get("other"); other != "" {
		factor = other
	}
	f.Set("factor", factor) // the form then shows the chosen value
	body := map[string]any{
		"system": f.Get("system"), "code": f.Get("code"), "factorId": factor, "comment": strings.TrimSpace(f.Get("comment")),
	}
	if kind := f.Get("rowkind"); kind != "" {
		body["kind"] = kind
	}
	if op, than := f.Get("op"), strings.TrimSpace(f.Get("than")); op != "" || than != "" {
		value := map[string]any{"op": op}
		if value["than"] = parseNumber(than); than == "" {
			delete(value, "than")
		}
		body["value"] = value
	}
	return body
}

func actOnCode(d *adminRequest) {
	f := d.r.PostForm
	system, code, kind := f.Get("system"), f.Get("code"), f.Get("kind")
	again := func(d *adminRequest) { showCode(d, system, code, kind) }
	switch f.Get("do") {
	case "ignore", "restore":
		markCode(d, system, code, kind, f.Get("do"), again)
	case "apply":
		var made mappingIDs
		if d.do(http.MethodPost, mapAPI, d.formVersionOrNew(), readMappingForm(f), &made, again) {
			leaveApplied(d, &made, f)
		}
	default:
		var would acted
		if d.do(http.MethodPost, mapAPI+"?dryRun=true", d.formVersionOrNew(), readMappingForm(f), &would, again) {
			showCodeEffect(d, &would, system, code, kind, again)
		}
	}
}

// mappingIDs contains the ids of the rows that a change to the map created.
type mappingIDs struct {
	Mappings []struct{ ID, FactorID string }
}

// leaveApplied redirects to the page of the code, which shows the new meaning and an undo link.
func leaveApplied(d *adminRequest, made *mappingIDs, f url.Values) {
	q := url.Values{"system": {f.Get("system")}, "code": {f.Get("code")}, "kind": {f.Get("kind")}}
	if len(made.Mappings) > 0 {
		row := made.Mappings[0]
		q.Set("id", row.ID)
		mappingList.wait(d, true, func(m *apiMapping) bool { return m.ID == row.ID && m.FactorID == row.FactorID })
	}
	if before := f.Get("was.factor"); before != "" && f.Get("version") != "" {
		q.Set("before", before)
	}
	done := d.T("terms.applied", "code", f.Get("code"), "factor", nameFactor(d, f.Get("factor")))
	d.leaveFlash(d.pathTo("code")+"?"+q.Encode(), flash{Done: done, Kept: f.Get("was.comment")})
}

// markCode marks a code on the worklist as ignored, or restores it.
func markCode(d *adminRequest, system, code, kind, verb string, again func(*adminRequest)) {
	mark := map[string]any{"system": system, "code": code}
	if kind != "" {
		mark["kind"] = kind
	}
	if !d.do(http.MethodPost, worklistAPI+"/"+verb, "", map[string]any{"codes": []any{mark}}, nil, again) {
		return
	}
	status, path, key := "unmapped", d.pathTo(), "terms.restored"
	if verb == "ignore" {
		status, path, key = "ignored", d.pathTo()+"?status=ignored", "terms.ignored.done"
	}
	d.waitUntil(func() bool {
		var list codeList
		return d.fetch(worklistAPI+"?"+url.Values{"code": {code}, "status": {status}}.Encode(), &list) == nil && list.find(system, kind) != nil
	})
	d.leaveNotice(path, key, "code", code)
}
