package integrations

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/readapi/web/apicall"
)

// codePage shows the factors that a code may stand for, and what a mapping would change.
type codePage struct {
	adminPage
	Tabs        []adminLink
	Code        codeRow
	CodeKind    string // as the API names it
	Suggestions []suggestionRow
	Factors     []option
	Kinds       []option
	Ops         []option
	Form        *form
	Version     string // of the row of the map; "": there is no row
	Was         url.Values
	Row         *mapRow // of the map now; nil: there is none
	Effect      *effect // what the mapping would change; nil: nobody asked
	Before      string  // factor of the row before the last change; "": the row is new
	Undo        bool    // the row was just made or changed
	Status      string
}

type suggestionRow struct {
	ID, Name, Why string
	Chosen        bool
}

// readCode returns a code of the worklist. A code that is not on the list has its name
// alone. It returns false after it has answered with a fault.
func (d termsRequest) readCode(system, code, kind string) (c apiCode, ok bool) {
	var list codeList
	if _, ok = d.read(worklistAPI+"?"+url.Values{"code": {code}}.Encode(), &list); !ok {
		return c, false
	}
	if found := list.find(system, kind); found != nil {
		return *found, true
	}
	return apiCode{System: system, Code: code, Kind: kind}, true
}

func showCode(d termsRequest) {
	q := d.r.URL.Query()
	d.showCode(http.StatusOK, q.Get("system"), q.Get("code"), q.Get("kind"), nil, nil)
}

// kindsOfCodes are the kinds of statements that a code can be in; the first is any.
var kindsOfCodes = []string{"", "medication", "observation", "lab", "device", "diagnosis"}

// showCode shows one code. Refused and would are the answer of the API to a mapping of it.
func (d termsRequest) showCode(status int, system, code, kind string, refused *apicall.Refusal, would *effect) {
	if code == "" {
		d.showNotFound()
		return
	}
	c, ok := d.readCode(system, code, kind)
	if !ok {
		return
	}
	all, ok := d.readMappings()
	if !ok {
		return
	}
	typed := d.r.PostForm
	out := codePage{adminPage: d.newPage("terms.code"), Tabs: d.listTabs(""), Code: d.newCodeRow(&c), CodeKind: c.Kind, Effect: would, Status: c.Status}
	out.Heading = d.T("terms.code.of", "code", c.Code)
	values := url.Values{"rowkind": {c.Kind}}
	if len(c.Suggestions) > 0 {
		values.Set("factor", c.Suggestions[0].FactorID)
	}
	var row *apiMapping
	id := d.r.URL.Query().Get("id")
	for i := range all {
		m := &all[i]
		switch {
		case m.System != system || m.Code != code:
		case typed == nil && id != "":
			if m.ID == id {
				row = m
			}
		case typed == nil && (textOrEmpty(m.Kind) == c.Kind || m.Kind == nil), typed != nil && m.same(system, code, typed.Get("rowkind"), typed.Get("op"), strings.TrimSpace(typed.Get("than"))):
			row = m
		}
	}
	if row != nil {
		out.Version, out.Row = strconv.FormatInt(row.Version, 10), d.newMapRow(row)
		values = url.Values{"factor": {row.FactorID}, "rowkind": {textOrEmpty(row.Kind)}, "comment": {row.Comment}}
		if row.Value != nil {
			values.Set("op", row.Value.Op)
			values.Set("than", row.Value.Than.String())
		}
	}
	out.Was = url.Values{"factor": values["factor"], "comment": values["comment"]}
	if row == nil {
		out.Was = url.Values{}
	}
	out.Form = d.newForm(values, refused).usePath("factor", "factorId").usePath("rowkind", "kind").usePath("op", "value.op").usePath("than", "value.than")
	out.Refused = out.Form.listRefusals("factor", "rowkind", "op", "than", "comment")
	if refused.IsOvertaken() {
		out.Refused = []string{d.T("int.overtaken")}
		now := url.Values{}
		if row != nil {
			now = url.Values{"factor": {row.FactorID}, "comment": {row.Comment}}
		}
		out.Changed = d.compareValues(now, [2]string{"factor", "terms.factor"}, [2]string{"comment", "terms.comment"})
	}
	if q := d.r.URL.Query(); out.Done != "" && row != nil {
		out.Undo, out.Before = true, q.Get("before")
	}
	d.chooseFactor(&out, &c)
	d.show(status, "terms.code", &out)
}

// chooseFactor fills in the factors that a code may be mapped to.
func (d termsRequest) chooseFactor(out *codePage, c *apiCode) {
	chosen := out.Form.Value("factor")
	suggested := chosen == noFactor
	for _, s := range c.Suggestions {
		why := d.T("terms.why", "score", s.Score, "reason", d.Or("terms.reason."+strings.ReplaceAll(s.Reason, "_", ""), s.Reason))
		out.Suggestions = append(out.Suggestions, suggestionRow{s.FactorID, d.nameFactor(s.FactorID), why, s.FactorID == chosen})
		suggested = suggested || s.FactorID == chosen
	}
	out.Suggestions = append(out.Suggestions, suggestionRow{noFactor, d.T("terms.nothing"), d.T("terms.nothing.about"), chosen == noFactor})
	if suggested {
		out.Factors = d.listFactors("")
	} else {
		out.Factors = d.listFactors(chosen)
	}
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

// readMappingForm returns the row of a form, as the API takes it.
func readMappingForm(f url.Values) map[string]any {
	factor := f.Get("factor")
	if other := f.Get("other"); other != "" {
		factor = other
	}
	f.Set("factor", factor) // the form shows it again
	body := map[string]any{"system": f.Get("system"), "code": f.Get("code"), "factorId": factor, "comment": strings.TrimSpace(f.Get("comment"))}
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

func actOnCode(d termsRequest) {
	f := d.r.PostForm
	system, code, kind := f.Get("system"), f.Get("code"), f.Get("kind")
	switch f.Get("do") {
	case "ignore", "restore":
		d.markCode(system, code, kind, f.Get("do"))
	case "apply":
		var made madeMappings
		refused, ok := d.sendIf(http.MethodPost, mapAPI, f.Get("version"), readMappingForm(f), &made)
		switch {
		case refused != nil:
			d.showCode(refused.PageStatus(), system, code, kind, refused, nil)
		case ok:
			d.showApplied(&made, f)
		}
	default:
		var would acted
		refused, ok := d.sendIf(http.MethodPost, mapAPI+"?dryRun=true", f.Get("version"), readMappingForm(f), &would)
		switch {
		case refused != nil:
			d.showCode(refused.PageStatus(), system, code, kind, refused, nil)
		case ok:
			c, known := d.readCode(system, code, kind)
			if known {
				d.showCode(http.StatusOK, system, code, kind, nil, d.newEffect(&would, c.Rooms))
			}
		}
	}
}

// madeMappings is the rows that a change of the map made, or all rows.
type madeMappings struct {
	Mappings []struct{ ID, FactorID string }
}

// showApplied leads to the page of the code, with its meaning now and the way back.
func (d termsRequest) showApplied(made *madeMappings, f url.Values) {
	q := url.Values{"system": {f.Get("system")}, "code": {f.Get("code")}, "kind": {f.Get("kind")}}
	if len(made.Mappings) > 0 {
		id, factor := made.Mappings[0].ID, made.Mappings[0].FactorID
		q.Set("id", id)
		d.waitUntil(func() bool { return d.readMappedFactor(id) == factor })
	}
	if before := f.Get("was.factor"); before != "" && f.Get("version") != "" {
		q.Set("before", before)
	}
	d.leaveFlash(d.pathTo("code")+"?"+q.Encode(), flash{Done: d.T("terms.applied", "code", f.Get("code"), "factor", d.nameFactor(f.Get("factor"))), Kept: f.Get("was.comment")})
}

// readMappedFactor returns the factor of a row of the map; "": there is no such row, or the
// API does not answer.
func (d termsRequest) readMappedFactor(id string) string {
	var list madeMappings
	if d.fetch(mapAPI+"?limit=20000", &list) != nil {
		return ""
	}
	for _, m := range list.Mappings {
		if m.ID == id {
			return m.FactorID
		}
	}
	return ""
}

// markCode removes a code from the worklist, or puts it back.
func (d termsRequest) markCode(system, code, kind, verb string) {
	mark := map[string]any{"system": system, "code": code}
	if kind != "" {
		mark["kind"] = kind
	}
	refused, ok := d.send(http.MethodPost, worklistAPI+"/"+verb, "", map[string]any{"codes": []any{mark}}, nil)
	switch {
	case refused != nil:
		d.showCode(refused.PageStatus(), system, code, kind, refused, nil)
	case ok && verb == "ignore":
		d.waitForCode(system, code, kind, "ignored")
		d.leaveNotice(d.pathTo()+"?status=ignored", "terms.ignored.done", "code", code)
	case ok:
		d.waitForCode(system, code, kind, "unmapped")
		d.leaveNotice(d.pathTo(), "terms.restored", "code", code)
	}
}

func (d termsRequest) waitForCode(system, code, kind, status string) {
	d.waitUntil(func() bool {
		var list codeList
		return d.fetch(worklistAPI+"?"+url.Values{"code": {code}, "status": {status}}.Encode(), &list) == nil && list.find(system, kind) != nil
	})
}
