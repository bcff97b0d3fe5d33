package integrations

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/internal/outbound"
)

const webhooksAPI = "/api/admin/webhooks"

func webhooksSection() *section {
	return &section{
		name: "webhooks", counts: true,
		shows: map[string]handler{
			"": {serve: showWebhooks}, "/new": {serve: showNewWebhook}, "/{id}": {serve: showWebhook}, "/{id}/edit": {serve: editWebhook},
			"/{id}/rotate": {serve: showWebhookRotation}, "/{id}/delete": {serve: showWebhookRemoval}, "/{id}/replay": {serve: showReplay},
			"/{id}/deliveries/{delivery}": {serve: showDelivery}, "/{id}/commands/{command}": {serve: showCommand},
		},
		acts: map[string]handler{
			"/new": {serve: createWebhook}, "/{id}/edit": {serve: changeWebhook}, "/{id}/rotate": {serve: rotateSecret},
			"/{id}/delete": {serve: deleteWebhook}, "/{id}/test": {serve: testWebhook}, "/{id}/replay": {serve: replayWebhook},
			"/{id}/deliveries/{delivery}/retry": {serve: retryDelivery}, "/{id}/commands/{command}/stop": {serve: stopCommand},
		},
	}
}

// apiWebhook is an endpoint in an API response.
type apiWebhook struct {
	ID, URL        string
	Events         []string
	Rooms          []int32
	Enabled        bool
	RatePerSecond  float64
	TimeoutSeconds int
	ReaderKeyIDs   []string
	Secrets        []struct {
		ID, State string
		Until     *time.Time
	}
	Status, Reason *string
	FailingSince   *time.Time
	Waiting        *int
	Version        int64
	CreatedAt      *time.Time
	Secret         string // only set for a new endpoint or after a rotation
	Warnings       []struct{ Code string }
}

var webhookList = list[apiWebhook]{webhooksAPI, "webhooks"}

// webhooksPage shows the list of endpoints.
type webhooksPage struct {
	adminPage
	Rows []webhookRow
}

type webhookRow struct {
	ID, URL, Events, Rooms, State, Waiting string
	Late                                   bool
}

func newWebhookRow(d *adminRequest, w *apiWebhook) webhookRow {
	row := webhookRow{
		ID: w.ID, URL: w.URL, Events: strings.Join(w.Events, ", "), Rooms: d.T("hooks.rooms.all"), State: d.T("hooks.unknown"),
	}
	if w.Rooms != nil {
		row.Rooms = joinRooms(w.Rooms)
	}
	if w.Waiting != nil {
		row.Waiting = strconv.Itoa(*w.Waiting)
	}
	switch status := textOrEmpty(w.Status); status {
	case "disabled":
		why := textOrEmpty(w.Reason)
		row.State, row.Late = d.T("hooks.disabled", "why", d.Or("hooks.reason."+why, why)), true
	case "failing":
		row.State, row.Late = d.T("hooks.failing", "time", d.formatTime(w.FailingSince)), true
	case "active":
		row.State = d.T("hooks.active")
	}
	return row
}

func showWebhooks(d *adminRequest) {
	all, ok := webhookList.read(d)
	if !ok {
		return
	}
	out := webhooksPage{adminPage: d.newPage("int.webhooks")}
	out.Act = &adminLink{Name: d.T("hooks.new"), Path: d.pathTo("new")}
	out.Rows = newRows(d, &out.adminPage, all, newWebhookRow)
	d.show("webhooks.list", &out)
}

// webhookPage shows one endpoint, or the form for a new one.
type webhookPage struct {
	adminPage
	Hook     webhookRow
	New      bool
	Asked    []option // subscribed events
	Samples  []string
	Overlaps []option
	Secrets  []string
	Rows     []deliveryRow
	States   []option
}

var webhookEvents = []string{outbound.LevelChanged, outbound.RoomRescored, outbound.Alert, outbound.Ping}

// webhookFields are the form fields of an endpoint.
var webhookFields = []formField{
	{name: "url", label: "hooks.url"},
	{name: "events", label: "hooks.events"},
	{name: "rooms", label: "hooks.rooms"},
	{name: "rate", label: "hooks.rate", path: "ratePerSecond"},
	{name: "timeout", label: "hooks.timeout", path: "timeoutSeconds"},
	{name: "readers", label: "hooks.readers", path: "readerKeyIds"},
	{name: "enabled", label: "hooks.enabled"},
	{name: "secret"},
}

// showWebhookForm shows the form for an endpoint. If the endpoint exists, the form contains its values.
func showWebhookForm(d *adminRequest, out *webhookPage, values, now url.Values) {
	d.useForm(&out.adminPage, values, now, webhookFields...)
	for _, event := range webhookEvents {
		out.Asked = append(out.Asked, option{event, d.T("hooks.event." + event), out.Form.Has("events", event)})
	}
	d.show("webhooks.form", out)
}

func showNewWebhook(d *adminRequest) {
	values := url.Values{"events": {outbound.LevelChanged, outbound.RoomRescored}, "rate": {"50"}, "timeout": {"10"}, "enabled": {"yes"}}
	showWebhookForm(d, &webhookPage{adminPage: d.newPage("hooks.new"), New: true}, values, nil)
}

// readWebhookForm returns the values in a form, in the API's format. The result contains every field. A rate or
// timeout left empty becomes the default; any other field left empty clears its value.
func readWebhookForm(d *adminRequest) map[string]any {
	f := d.r.PostForm
	body := map[string]any{
		"url": strings.TrimSpace(f.Get("url")), "events": append([]string{}, f["events"]...), "rooms": nil, "enabled": f.Get("enabled") == "yes",
		"ratePerSecond":  cmp.Or(parseNumber(f.Get("rate")), any(outbound.DefaultRate)),
		"timeoutSeconds": cmp.Or(parseNumber(f.Get("timeout")), any(outbound.DefaultTimeout)),
		"readerKeyIds":   append([]string{}, splitWords(f.Get("readers"))...),
	}
	if rooms := splitWords(f.Get("rooms")); len(rooms) > 0 {
		all := make([]any, len(rooms))
		for i, room := range rooms {
			all[i] = parseNumber(room)
		}
		body["rooms"] = all
	}
	return body
}

func createWebhook(d *adminRequest) {
	body := readWebhookForm(d)
	if secret := d.r.PostForm.Get("secret"); secret != "" {
		body["secret"] = secret
	}
	var made apiWebhook
	untold := func(d *adminRequest) {
		d.r.PostForm.Del("secret") // the secret must not be displayed again
		showNewWebhook(d)
	}
	if d.do(http.MethodPost, webhooksAPI, "", body, &made, untold) {
		showSecretOnce(d, &made)
	}
}

func showSecretOnce(d *adminRequest, made *apiWebhook) {
	d.waitForVersion(webhooksAPI+"/"+url.PathEscape(made.ID), formatVersion(made.Version))
	says := []string{d.T("hooks.once", "url", made.URL)}
	for _, w := range made.Warnings {
		says = append(says, d.Or("hooks.warning."+w.Code, w.Code))
	}
	d.leaveSecret(d.pathTo(made.ID), &once{Say: strings.Join(says, " "), Value: made.Secret})
}

// readWebhook returns the endpoint in the path. If it returns false, it has sent an error response.
func readWebhook(d *adminRequest) (w *apiWebhook, version string, ok bool) {
	w = &apiWebhook{}
	version, ok = d.read(webhooksAPI+"/"+url.PathEscape(d.pathID()), w)
	return w, version, ok
}

// listWebhookValues returns an endpoint's values for the form.
func listWebhookValues(w *apiWebhook) url.Values {
	v := url.Values{
		"url": {w.URL}, "events": w.Events, "rooms": {joinRooms(w.Rooms)}, "rate": {strconv.FormatFloat(w.RatePerSecond, 'f', -1, 64)},
		"timeout": {strconv.Itoa(w.TimeoutSeconds)}, "readers": {strings.Join(w.ReaderKeyIDs, ", ")}, "enabled": {"no"},
	}
	if w.Enabled {
		v.Set("enabled", "yes")
	}
	return v
}

func editWebhook(d *adminRequest) {
	if w, version, ok := readWebhook(d); ok {
		out := webhookPage{adminPage: d.newPage("hooks.edit"), Hook: newWebhookRow(d, w)}
		out.Version = version
		showWebhookForm(d, &out, listWebhookValues(w), listWebhookValues(w))
	}
}

func changeWebhook(d *adminRequest) {
	var changed apiWebhook
	path := webhooksAPI + "/" + url.PathEscape(d.pathID())
	if d.do(http.MethodPatch, path, d.formVersion(), readWebhookForm(d), &changed, editWebhook) {
		d.waitForVersion(path, formatVersion(changed.Version))
		d.leaveNotice(d.pathTo(changed.ID), "hooks.changed")
	}
}

// showWebhookQuestion shows the confirmation page for an act on the endpoint in the path.
func showWebhookQuestion(d *adminRequest, title, template string, words ...string) {
	w, version, ok := readWebhook(d)
	if !ok {
		return
	}
	out := webhookPage{adminPage: d.newPage(title), Hook: newWebhookRow(d, w)}
	d.useForm(&out.adminPage, url.Values{"overlap": {"24"}}, listWebhookValues(w), formField{name: "overlap", path: "overlapHours"},
		formField{name: "secret"}, formField{name: "url", label: "hooks.url"}, formField{name: "events", label: "hooks.events"},
		formField{name: "rooms", label: "hooks.rooms"}, formField{name: "enabled", label: "hooks.enabled"})
	out.Version, out.Refused = version, append(out.Refused, words...)
	for _, hours := range []string{"0", "1", "24", "168"} {
		out.Overlaps = append(out.Overlaps, option{hours, d.T("hooks.overlap." + hours), out.Form.Has("overlap", hours)})
	}
	d.show(template, &out)
}

func showWebhookRotation(d *adminRequest) { showWebhookQuestion(d, "hooks.rotate", "webhooks.rotate") }

func showWebhookRemoval(d *adminRequest) { showWebhookQuestion(d, "hooks.delete", "webhooks.delete") }

func rotateSecret(d *adminRequest) {
	var made apiWebhook
	body := map[string]any{"overlapHours": parseNumber(d.r.PostForm.Get("overlap"))}
	if secret := d.r.PostForm.Get("secret"); secret != "" {
		body["secret"] = secret
		d.r.PostForm.Del("secret")
	}
	path := webhooksAPI + "/" + url.PathEscape(d.pathID()) + "/rotate"
	if d.do(http.MethodPost, path, d.formVersion(), body, &made, showWebhookRotation) {
		showSecretOnce(d, &made)
	}
}

func deleteWebhook(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	if strings.TrimSpace(d.r.PostForm.Get("name")) != w.URL {
		d.status = http.StatusUnprocessableEntity
		showWebhookQuestion(d, "hooks.delete", "webhooks.delete", d.T("int.typed"))
		return
	}
	path := webhooksAPI + "/" + url.PathEscape(d.pathID())
	if d.do(http.MethodDelete, path, d.formVersion(), nil, nil, showWebhookRemoval) {
		d.waitUntil(func() bool { return d.isMissing(path) })
		d.leaveNotice(d.pathTo(), "hooks.deleted", "url", w.URL)
	}
}

// showWebhook shows an endpoint and its deliveries.
func showWebhook(d *adminRequest) {
	w, version, ok := readWebhook(d)
	if !ok {
		return
	}
	q := url.Values{"limit": {strconv.Itoa(rowsAPage)}}
	for _, name := range []string{"state", "event", "cursor"} {
		if v := d.r.URL.Query().Get(name); v != "" {
			q.Set(name, v)
		}
	}
	var page deliveryList
	refused, ok := d.send(http.MethodGet, webhooksAPI+"/"+url.PathEscape(w.ID)+"/deliveries?"+q.Encode(), "", nil, &page)
	if !ok {
		return
	}
	if refused != nil {
		d.refuse(refused)
	}
	out := webhookPage{adminPage: d.newPage("hooks.one"), Hook: newWebhookRow(d, w), Samples: webhookEvents}
	d.useForm(&out.adminPage, d.r.URL.Query(), nil, formField{name: "state"}, formField{name: "event"})
	out.Heading, out.Version, out.Pager = w.URL, version, d.newCursorPager(textOrEmpty(page.Next))
	for _, s := range w.Secrets {
		key := "hooks.secret." + s.State
		if s.State == "current" && s.Until != nil {
			key = "hooks.secret.ending"
		}
		out.Secrets = append(out.Secrets, d.T(key, "id", s.ID, "time", d.formatTime(s.Until)))
	}
	for _, state := range deliveryStates {
		out.States = append(out.States, option{state, d.T("delivery." + state), out.Form.Value("state") == state})
	}
	for i := range page.Items {
		out.Rows = append(out.Rows, newDeliveryRow(d, &page.Items[i]))
	}
	d.show("webhooks.one", &out)
}
