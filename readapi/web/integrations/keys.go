package integrations

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
)

const keysAPI = "/api/admin/keys"

// The list marks keys that have been unused for more than keyUnusedFor, and keys that expire within keyEndsSoon.
const (
	keyUnusedFor = 90 * 24 * time.Hour
	keyEndsSoon  = 14 * 24 * time.Hour
)

func keysSection() *section {
	return &section{
		name: "keys", counts: true,
		shows: map[string]handler{
			"": {serve: showKeys}, "/new": {serve: showNewKey}, "/{id}/rotate": {serve: showKeyRotation}, "/{id}/revoke": {serve: showKeyRevocation},
		},
		acts: map[string]handler{"/new": {serve: mintKey}, "/{id}/rotate": {serve: rotateKey}, "/{id}/revoke": {serve: revokeKey}},
	}
}

// apiKey is a key in an API response.
type apiKey struct {
	ID, Prefix, Name, Status, Version string
	Scopes                            []string
	CreatedAt, ExpiresAt, LastUsedAt  *time.Time
	RevokedAt                         *time.Time
	Rate                              float64
	Burst                             int
	Key                               string // the secret; only for a new key
}

var keyList = list[apiKey]{keysAPI, "keys"}

// keysPage shows the list of keys.
type keysPage struct {
	adminPage
	Rows  []keyRow
	Ended bool // whether the list shows the expired and revoked keys instead of the active ones
	Other string
}

type keyRow struct {
	ID, Prefix, Name, Used, Ends string
	Scopes                       []string
	Unused, Soon, Valid          bool
}

func showKeys(d *adminRequest) {
	all, ok := keyList.read(d)
	if !ok {
		return
	}
	out := keysPage{adminPage: d.newPage("int.keys"), Ended: d.r.URL.Query().Get("show") == "ended", Other: d.pathTo() + "?show=ended"}
	if out.Ended {
		out.Other = d.pathTo()
	}
	out.Act = &adminLink{Name: d.T("keys.new"), Path: d.pathTo("new")}
	all = slices.DeleteFunc(all, func(k apiKey) bool { return (k.Status != "active") != out.Ended })
	out.Rows = newRows(d, &out.adminPage, all, newKeyRow)
	d.show("keys.list", &out)
}

func newKeyRow(d *adminRequest, k *apiKey) keyRow {
	row := keyRow{
		ID: k.ID, Prefix: k.Prefix, Name: k.Name, Scopes: k.Scopes, Used: d.T("keys.unused"), Ends: d.T("keys.never"),
		Valid: k.Status == "active",
	}
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

// keyPage shows one key, or the form for a new one.
type keyPage struct {
	adminPage
	Key      keyRow
	Presets  []adminLink
	Scopes   []scopeRow
	Overlaps []option
}

// scopeRow is a scope with the paths that it gives access to.
type scopeRow struct {
	option
	Paths []string
}

// keyPresets are sets of scopes, each for one kind of sender or reader.
var keyPresets = []struct {
	name   string
	scopes []access.Scope
}{
	{"ehr", []access.Scope{access.IngestHL7, access.IngestBatch}},
	{"monitors", []access.Scope{access.IngestClinical}},
	{"hr", []access.Scope{access.IngestRoster, access.IngestStaffing}},
	{"partner", []access.Scope{access.ReadUnitState, access.ReadPredict}},
}

// listScopes returns a row for each scope that a key can have.
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

// keyFields are the fields of a new key.
var keyFields = []formField{{name: "name"}, {name: "scopes"}, {name: "expires", path: "expiresAt"}, {name: "rate"}, {name: "burst"}}

func showNewKey(d *adminRequest) {
	out := keyPage{adminPage: d.newPage("keys.new")}
	values, chosen := url.Values{"rate": {"50"}}, d.r.URL.Query().Get("preset")
	for _, p := range keyPresets {
		says := d.T("keys.preset." + p.name)
		out.Presets = append(out.Presets, adminLink{Name: says, Path: d.pathTo("new") + "?preset=" + p.name, Current: p.name == chosen})
		if p.name == chosen {
			values.Set("name", says)
			for _, scope := range p.scopes {
				values.Add("scopes", string(scope))
			}
		}
	}
	d.useForm(&out.adminPage, values, nil, keyFields...)
	out.Scopes = listScopes(d, out.Form)
	d.show("keys.new", &out)
}

// endDay returns the last second of an entered day in the API's format. It returns nil if nothing was entered, and
// any other text unchanged. The API interprets the time in the hospital's time zone.
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
	optional := map[string]any{"rate": parseNumber(f.Get("rate")), "burst": parseNumber(f.Get("burst")), "expiresAt": endDay(f.Get("expires"))}
	for name, value := range optional {
		if value != nil {
			body[name] = value
		}
	}
	var made apiKey
	if d.do(http.MethodPost, keysAPI, "", body, &made, showNewKey) {
		showKeyOnce(d, &made)
	}
}

func showKeyOnce(d *adminRequest, made *apiKey) {
	d.waitForVersion(keysAPI+"/"+url.PathEscape(made.ID), made.Version)
	curl := chooseCurl(d, made.Key, made.Scopes)
	d.leaveSecret(d.pathTo(), &once{Say: d.T("keys.once", "name", made.Name), Value: made.Key, Curl: curl})
}

// chooseCurl returns a command to test a key. If the key allows reads, the command reads. Otherwise, it sends a
// sample from the documentation.
func chooseCurl(d *adminRequest, key string, scopes []string) string {
	var best *contract.Operation
	for i := range d.Administration.Operations {
		o := &d.Administration.Operations[i]
		switch {
		case !slices.Contains(scopes, string(o.Scope)) || strings.Contains(o.Path, "{"):
		case best == nil, rankToTry(o) < rankToTry(best):
			best = o
		}
	}
	if best == nil {
		return ""
	}
	return formatCurl(d.apiAddress(), key, best, d.now())
}

// rankToTry ranks an operation by how suitable it is for testing a key: reads first, past events last.
func rankToTry(o *contract.Operation) int {
	switch {
	case o.Method == http.MethodGet:
		return 0
	case strings.HasSuffix(o.Path, "/batch"):
		return 2 //nolint:mnd // past events rank last
	}
	return 1
}

// sampleTime matches the times in a sample.
var sampleTime = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)|\b20\d{12}[+-]\d{4}\b`)

// hl7Time is the format of times in HL7.
const hl7Time = "20060102150405-0700"

// moveTimes shifts the times in a sample so that the latest time is now, because old events might not affect the
// unit.
func moveTimes(sample string, now time.Time) string {
	parse := func(text string) (t time.Time, layout string) {
		for _, layout := range []string{time.RFC3339, hl7Time} {
			if t, err := time.Parse(layout, text); err == nil {
				return t, layout
			}
		}
		return time.Time{}, ""
	}
	var latest time.Time
	for _, text := range sampleTime.FindAllString(sample, -1) {
		if t, _ := parse(text); t.After(latest) {
			latest = t
		}
	}
	by := now.Truncate(time.Second).Sub(latest)
	return sampleTime.ReplaceAllStringFunc(sample, func(text string) string {
		t, layout := parse(text)
		if layout == "" {
			return text
		}
		return t.Add(by).In(now.Location()).Format(layout)
	})
}

// formatCurl returns a command that sends an operation's sample with current times.
func formatCurl(address, key string, o *contract.Operation, now time.Time) string {
	command := "curl " + quoteWord(address+o.Path) + " -H " + quoteWord("Authorization: Bearer "+key)
	for i := range o.Bodies {
		if b := &o.Bodies[i]; b.Type == "application/json" && len(b.Examples) > 0 {
			return command + " -H " + quoteWord("Content-Type: application/json") + " -d " + quoteWord(moveTimes(b.Examples[0].Text, now))
		}
	}
	return command
}

// quoteWord quotes text for a shell.
func quoteWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// showKeyQuestion shows the confirmation page for an act on the key in the path.
func showKeyQuestion(d *adminRequest, title string, words ...string) {
	var k apiKey
	version, ok := d.read(keysAPI+"/"+url.PathEscape(d.pathID()), &k)
	if !ok {
		return
	}
	out := keyPage{adminPage: d.newPage(title), Key: newKeyRow(d, &k)}
	now := url.Values{"ends": {out.Key.Ends}}
	d.useForm(&out.adminPage, url.Values{"overlap": {"24h"}}, now, formField{name: "overlap"}, formField{name: "ends", label: "keys.ends"})
	out.Version, out.Refused = version, append(out.Refused, words...)
	for _, overlap := range []string{"0", "1h", "24h", "7d"} {
		out.Overlaps = append(out.Overlaps, option{overlap, d.T("keys.overlap." + overlap), out.Form.Has("overlap", overlap)})
	}
	d.show(title, &out)
}

func showKeyRotation(d *adminRequest) { showKeyQuestion(d, "keys.rotate") }

func showKeyRevocation(d *adminRequest) { showKeyQuestion(d, "keys.revoke") }

func rotateKey(d *adminRequest) {
	var made apiKey
	path, body := keysAPI+"/"+url.PathEscape(d.pathID())+"/rotate", map[string]any{"overlap": d.r.PostForm.Get("overlap")}
	if d.do(http.MethodPost, path, d.formVersion(), body, &made, showKeyRotation) {
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
		d.status = http.StatusUnprocessableEntity
		showKeyQuestion(d, "keys.revoke", d.T("int.typed"))
		return
	}
	if !d.do(http.MethodDelete, path, d.formVersion(), nil, &k, showKeyRevocation) {
		return
	}
	d.waitForVersion(path, k.Version)
	d.leaveNotice(d.pathTo(), "keys.revoked", "name", k.Name)
}
