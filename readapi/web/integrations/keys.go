package integrations

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/readapi/web/apicall"
)

const keysAPI = "/api/admin/keys"

// The list marks a key that nobody has used for so long, or that ends so soon.
const (
	keyUnusedFor = 90 * 24 * time.Hour
	keyEndsSoon  = 14 * 24 * time.Hour
)

func keysSection() *section {
	return &section{
		name: "keys", counts: true,
		shows: map[string]func(*adminRequest){"": showKeys, "/new": askForKey, "/{id}/rotate": askToRotateKey, "/{id}/revoke": askToRevokeKey},
		acts:  map[string]act{"/new": {mintKey, true}, "/{id}/rotate": {rotateKey, true}, "/{id}/revoke": {revokeKey, true}},
	}
}

// apiKey is a key as the API tells it.
type apiKey struct {
	ID, Prefix, Name, Status, Version string
	Scopes                            []string
	CreatedAt, ExpiresAt, LastUsedAt  *time.Time
	RevokedAt                         *time.Time
	Rate                              float64
	Burst                             int
	Key                               string // the secret, of a new key alone
}

// keysPage is the list of keys.
type keysPage struct {
	adminPage
	Rows  []keyRow
	Ended bool // the list shows the keys that have ended
	Other string
	Pager pager
}

type keyRow struct {
	ID, Prefix, Name, Used, Ends string
	Scopes                       []string
	Unused, Soon, Valid          bool
}

func showKeys(d *adminRequest) {
	var list struct{ Keys []apiKey }
	if _, ok := d.read(keysAPI, &list); !ok {
		return
	}
	out := keysPage{adminPage: d.newPage("int.keys"), Ended: d.r.URL.Query().Get("show") == "ended", Other: d.pathTo() + "?show=ended"}
	if out.Ended {
		out.Other = d.pathTo()
	}
	list.Keys = slices.DeleteFunc(list.Keys, func(k apiKey) bool { return (k.Status != "active") != out.Ended })
	out.Act = &adminLink{Name: d.T("keys.new"), Path: d.pathTo("new")}
	first, last, p := d.cutToPage(len(list.Keys))
	out.Pager = p
	for i := range list.Keys[first:last] {
		out.Rows = append(out.Rows, newKeyRow(d, &list.Keys[first+i]))
	}
	d.show(http.StatusOK, "keys.list", &out)
}

func newKeyRow(d *adminRequest, k *apiKey) keyRow {
	row := keyRow{ID: k.ID, Prefix: k.Prefix, Name: k.Name, Scopes: k.Scopes, Used: d.T("keys.unused"), Ends: d.T("keys.never"), Valid: k.Status == "active"}
	since := k.CreatedAt
	if k.LastUsedAt != nil {
		since = k.LastUsedAt
		row.Used = d.T("ago", "age", d.FormatAge(d.now().Sub(*since)))
	}
	row.Unused = since != nil && d.now().Sub(*since) > keyUnusedFor
	ends := k.ExpiresAt
	if k.RevokedAt != nil && (ends == nil || k.RevokedAt.Before(*ends)) {
		ends = k.RevokedAt
	}
	if ends != nil {
		row.Ends = d.formatTime(ends)
		row.Soon = row.Valid && ends.Sub(d.now()) < keyEndsSoon
	}
	return row
}

// keyPage shows one key, or asks for a new one.
type keyPage struct {
	adminPage
	Form     *form
	Key      keyRow
	Version  string
	Presets  []adminLink
	Scopes   []scopeRow
	Overlaps []option
}

// scopeRow is a scope with the paths that it opens.
type scopeRow struct {
	option
	Paths []string
}

// keyPresets are the scopes that one kind of sender or reader needs.
var keyPresets = []struct {
	name   string
	scopes []access.Scope
}{
	{"ehr", []access.Scope{access.IngestHL7, access.IngestBatch}},
	{"monitors", []access.Scope{access.IngestClinical}},
	{"hr", []access.Scope{access.IngestRoster, access.IngestStaffing}},
	{"partner", []access.Scope{access.ReadUnitState, access.ReadPredict}},
}

// listScopes returns all scopes that a key may have.
func listScopes(d *adminRequest, f *form) (rows []scopeRow) {
	for _, scope := range append(access.Scopes(), access.Admin) {
		row := scopeRow{option: option{string(scope), d.T("scope." + string(scope)), f.Has("scopes", string(scope))}}
		for i := range d.Administration.Operations {
			if o := &d.Administration.Operations[i]; o.Scope == scope && scope != access.Admin && !slices.Contains(row.Paths, o.Path) {
				row.Paths = append(row.Paths, o.Path)
			}
		}
		if scope == access.Admin {
			row.Paths = []string{"/api/admin/…"}
		}
		rows = append(rows, row)
	}
	return rows
}

func askForKey(d *adminRequest) {
	if d.requireFreshSignIn() {
		showNewKey(d, http.StatusOK, nil)
	}
}

func showNewKey(d *adminRequest, status int, refused *apicall.Refusal) {
	values, preset := url.Values{"rate": {"50"}}, d.r.URL.Query().Get("preset")
	for _, p := range keyPresets {
		if p.name == preset {
			values.Set("name", d.T("keys.preset."+preset))
			for _, scope := range p.scopes {
				values.Add("scopes", string(scope))
			}
		}
	}
	out := keyPage{adminPage: d.newPage("keys.new"), Form: d.newForm(values, refused).usePath("expires", "expiresAt")}
	for _, p := range keyPresets {
		out.Presets = append(out.Presets, adminLink{Name: d.T("keys.preset." + p.name), Path: d.pathTo("new") + "?preset=" + p.name, Current: p.name == preset})
	}
	out.Scopes = listScopes(d, out.Form)
	out.Refused = out.Form.listRefusals("name", "scopes", "expires", "rate", "burst")
	d.show(status, "keys.new", &out)
}

// parseNumber returns a typed number as the API takes it; nil: nothing was typed. Any other
// text stays as it is, so that the API refuses it.
func parseNumber(typed string) any {
	typed = strings.TrimSpace(typed)
	var n json.Number
	switch {
	case typed == "":
		return nil
	case json.Unmarshal([]byte(typed), &n) == nil:
		return n
	}
	return typed
}

// endDay returns the last second of a typed day, as the API takes it. The API reads it in the
// zone of the hospital.
func endDay(typed string) any {
	switch typed = strings.TrimSpace(typed); {
	case typed == "":
		return nil
	case len(typed) == len(time.DateOnly):
		return typed + "T23:59:59"
	}
	return typed
}

func mintKey(d *adminRequest) {
	f := d.r.PostForm
	body := map[string]any{"name": f.Get("name"), "scopes": append([]string{}, f["scopes"]...)}
	for name, value := range map[string]any{"rate": parseNumber(f.Get("rate")), "burst": parseNumber(f.Get("burst")), "expiresAt": endDay(f.Get("expires"))} {
		if value != nil {
			body[name] = value
		}
	}
	var made apiKey
	refused, ok := d.send(http.MethodPost, keysAPI, "", body, &made)
	switch {
	case refused != nil:
		showNewKey(d, http.StatusUnprocessableEntity, refused)
	case ok:
		showKeyOnce(d, &made)
	}
}

func showKeyOnce(d *adminRequest, made *apiKey) {
	d.waitForVersion(keysAPI+"/"+url.PathEscape(made.ID), made.Version)
	d.leaveSecret(d.pathTo(), &once{Say: d.T("keys.once", "name", made.Name), Value: made.Key, Curl: chooseCurl(d, made.Key, made.Scopes)})
}

// waitForVersion waits until this process shows a thing in a version.
func (d *adminRequest) waitForVersion(path, version string) {
	d.waitUntil(func() bool {
		a, err := d.call(http.MethodGet, path, "", nil)
		return err == nil && a.Refused == nil && a.Version == version
	})
}

// chooseCurl returns a command that tries a key. The command reads if the key may, else it
// sends the sample of the documentation.
func chooseCurl(d *adminRequest, key string, scopes []string) string {
	var best *contract.Operation
	for i := range d.Administration.Operations {
		o := &d.Administration.Operations[i]
		switch {
		case !slices.Contains(scopes, string(o.Scope)) || strings.Contains(o.Path, "{"):
		case best == nil, o.Method == http.MethodGet && best.Method != http.MethodGet:
			best = o
		}
	}
	if best == nil {
		return ""
	}
	return formatCurl(d.apiAddress(), key, best)
}

// formatCurl returns a command that sends the sample of an operation.
func formatCurl(address, key string, o *contract.Operation) string {
	command := "curl " + quoteWord(address+o.Path) + " -H " + quoteWord("Authorization: Bearer "+key)
	for i := range o.Bodies {
		if b := &o.Bodies[i]; b.Type == "application/json" && len(b.Examples) > 0 {
			return command + " -H " + quoteWord("Content-Type: application/json") + " -d " + quoteWord(b.Examples[0].Text)
		}
	}
	return command
}

// quoteWord quotes a word for a shell.
func quoteWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// showKeyQuestion asks whether to do something to the key of the path.
func showKeyQuestion(d *adminRequest, status int, title string, refused *apicall.Refusal, words ...string) {
	var k apiKey
	version, ok := d.read(keysAPI+"/"+url.PathEscape(d.pathID()), &k)
	if !ok {
		return
	}
	out := keyPage{adminPage: d.newPage(title), Form: d.newForm(url.Values{"overlap": {"24h"}}, refused), Key: newKeyRow(d, &k), Version: version}
	out.Refused = append(out.Form.listRefusals("overlap"), words...)
	for _, overlap := range []string{"0", "1h", "24h", "7d"} {
		out.Overlaps = append(out.Overlaps, option{Value: overlap, Name: d.T("keys.overlap." + overlap), Chosen: out.Form.Has("overlap", overlap)})
	}
	if refused.IsOvertaken() {
		out.Refused = []string{d.T("int.overtaken")}
		out.Changed = d.compareValues(url.Values{"ends": {out.Key.Ends}}, [2]string{"ends", "keys.ends"})
	}
	d.show(status, title, &out)
}

func askToRotateKey(d *adminRequest) {
	if d.requireFreshSignIn() {
		showKeyQuestion(d, http.StatusOK, "keys.rotate", nil)
	}
}

func askToRevokeKey(d *adminRequest) {
	if d.requireFreshSignIn() {
		showKeyQuestion(d, http.StatusOK, "keys.revoke", nil)
	}
}

func rotateKey(d *adminRequest) {
	var made apiKey
	refused, ok := d.send(http.MethodPost, keysAPI+"/"+url.PathEscape(d.pathID())+"/rotate", d.formVersion(), map[string]any{"overlap": d.r.PostForm.Get("overlap")}, &made)
	switch {
	case refused != nil:
		showKeyQuestion(d, refused.PageStatus(), "keys.rotate", refused)
	case ok:
		showKeyOnce(d, &made)
	}
}

func revokeKey(d *adminRequest) {
	var k apiKey
	path := keysAPI + "/" + url.PathEscape(d.pathID())
	if _, ok := d.read(path, &k); !ok {
		return
	}
	if strings.TrimSpace(d.r.PostForm.Get("name")) != k.Name {
		showKeyQuestion(d, http.StatusUnprocessableEntity, "keys.revoke", nil, d.T("int.typed"))
		return
	}
	refused, ok := d.send(http.MethodDelete, path, d.formVersion(), nil, &k)
	switch {
	case refused != nil:
		showKeyQuestion(d, refused.PageStatus(), "keys.revoke", refused)
	case ok:
		d.waitForVersion(path, k.Version)
		d.leaveNotice(d.pathTo(), "keys.revoked", "name", k.Name)
	}
}
