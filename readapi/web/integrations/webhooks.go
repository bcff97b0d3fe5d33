package integrations

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/internal/outbound"
	"svc/readapi/web/apicall"
)

const webhooksAPI = "/api/admin/webhooks"

func webhooksSection() *section {
	return &section{
		name: "webhooks", counts: true,
		shows: map[string]func(*adminRequest){
			"": showWebhooks, "/new": askForWebhook, "/{id}": showWebhook, "/{id}/edit": func(d *adminRequest) { editWebhook(d, http.StatusOK, nil) },
			"/{id}/rotate": askToRotateSecret, "/{id}/delete": askToDeleteWebhook, "/{id}/replay": func(d *adminRequest) { showReplay(d, http.StatusOK, nil) },
			"/{id}/deliveries/{delivery}": showDelivery, "/{id}/commands/{command}": showCommand,
		},
		acts: map[string]act{
			"/new": {createWebhook, true}, "/{id}/edit": {changeWebhook, false}, "/{id}/rotate": {rotateSecret, true}, "/{id}/delete": {deleteWebhook, true},
			"/{id}/test": {testWebhook, false}, "/{id}/replay": {replayWebhook, false}, "/{id}/deliveries/{delivery}/retry": {retryDelivery, false},
			"/{id}/commands/{command}/stop": {stopCommand, false},
		},
	}
}

// apiWebhook is an endpoint as the API tells it.
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
	Secret         string // of a new endpoint, or a new secret
	Warnings       []struct{ Code string }
}

// webhooksPage shows the list of endpoints.
type webhooksPage struct {
	adminPage
	Rows  []webhookRow
	Pager pager
}

type webhookRow struct {
	ID, URL, Events, Rooms, State, Waiting string
	Late                                   bool
}

func newWebhookRow(d *adminRequest, w *apiWebhook) webhookRow {
	row := webhookRow{ID: w.ID, URL: w.URL, Events: strings.Join(w.Events, ", "), Rooms: d.T("hooks.rooms.all"), State: d.T("hooks.unknown")}
	if w.Rooms != nil {
		row.Rooms = joinRooms(w.Rooms)
	}
	if w.Waiting != nil {
		row.Waiting = strconv.Itoa(*w.Waiting)
	}
	switch status := textOrEmpty(w.Status); status {
	case "disabled":
		row.State, row.Late = d.T("hooks.disabled", "why", d.Or("hooks.reason."+textOrEmpty(w.Reason), textOrEmpty(w.Reason))), true
	case "failing":
		row.State, row.Late = d.T("hooks.failing", "time", d.formatTime(w.FailingSince)), true
	case "active":
		row.State = d.T("hooks.active")
	}
	return row
}

func showWebhooks(d *adminRequest) {
	var list struct{ Webhooks []apiWebhook }
	if _, ok := d.read(webhooksAPI, &list); !ok {
		return
	}
	out := webhooksPage{adminPage: d.newPage("int.webhooks")}
	out.Act = &adminLink{Name: d.T("hooks.new"), Path: d.pathTo("new")}
	first, last, p := d.cutToPage(len(list.Webhooks))
	out.Pager = p
	for i := range list.Webhooks[first:last] {
		out.Rows = append(out.Rows, newWebhookRow(d, &list.Webhooks[first+i]))
	}
	d.show(http.StatusOK, "webhooks.list", &out)
}

// webhookPage shows one endpoint, or asks for a new one.
type webhookPage struct {
	adminPage
	Form     *form
	Hook     webhookRow
	Version  string
	New      bool
	Asked    []option // events
	Samples  []string
	Overlaps []option
	Secrets  []string
	Rows     []deliveryRow
	States   []option
	Pager    pager
}

var webhookEvents = []string{outbound.LevelChanged, outbound.RoomRescored, outbound.Alert, outbound.Ping}

// webhookFields are the paths of fields of the form in the body of the API.
var webhookFields = map[string]string{"rate": "ratePerSecond", "timeout": "timeoutSeconds", "readers": "readerKeyIds"}

func newWebhookForm(d *adminRequest, values url.Values, refused *apicall.Refusal) *form {
	f := d.newForm(values, refused)
	for name, path := range webhookFields {
		f.usePath(name, path)
	}
	return f
}

// showWebhookForm shows the form of an endpoint.
func showWebhookForm(d *adminRequest, status int, out *webhookPage, refused *apicall.Refusal) {
	for _, event := range webhookEvents {
		out.Asked = append(out.Asked, option{Value: event, Name: d.T("hooks.event." + event), Chosen: out.Form.Has("events", event)})
	}
	if refused != nil && !refused.IsOvertaken() {
		out.Refused = out.Form.listRefusals("url", "events", "rooms", "rate", "timeout", "readers", "secret")
	}
	d.show(status, "webhooks.form", out)
}

func askForWebhook(d *adminRequest) {
	if d.requireFreshSignIn() {
		showNewWebhook(d, http.StatusOK, nil)
	}
}

func showNewWebhook(d *adminRequest, status int, refused *apicall.Refusal) {
	values := url.Values{"events": {outbound.LevelChanged, outbound.RoomRescored}, "rate": {"50"}, "timeout": {"10"}, "enabled": {"yes"}}
	showWebhookForm(d, status, &webhookPage{adminPage: d.newPage("hooks.new"), Form: newWebhookForm(d, values, refused), New: true}, refused)
}

// splitWords splits a typed list.
func splitWords(typed string) []string {
	return strings.FieldsFunc(typed, func(c rune) bool { return c == ',' || c == ' ' || c == ';' || c == '\n' || c == '\r' })
}

// readWebhookForm returns the values of the form, as the API takes them. It sends all fields:
// an empty one unsets the value.
func readWebhookForm(d *adminRequest) map[string]any {
	f := d.r.PostForm
	body := map[string]any{
		"url": strings.TrimSpace(f.Get("url")), "events": append([]string{}, f["events"]...), "rooms": nil, "enabled": f.Get("enabled") == "yes",
		"ratePerSecond": cmp.Or(parseNumber(f.Get("rate")), any(outbound.DefaultRate)), "timeoutSeconds": cmp.Or(parseNumber(f.Get("timeout")), any(outbound.DefaultTimeout)),
		"readerKeyIds": append([]string{}, splitWords(f.Get("readers"))...),
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
	refused, ok := d.send(http.MethodPost, webhooksAPI, "", body, &made)
	switch {
	case refused != nil:
		d.r.PostForm.Del("secret") // no page may show it
		showNewWebhook(d, refused.PageStatus(), refused)
	case ok:
		showSecretOnce(d, &made)
	}
}

func showSecretOnce(d *adminRequest, made *apiWebhook) {
	d.waitForVersion(webhooksAPI+"/"+url.PathEscape(made.ID), strconv.FormatInt(made.Version, 10))
	says := []string{d.T("hooks.once", "url", made.URL)}
	for _, w := range made.Warnings {
		says = append(says, d.Or("hooks.warning."+w.Code, w.Code))
	}
	d.leaveSecret(d.pathTo(made.ID), &once{Say: strings.Join(says, " "), Value: made.Secret})
}

// readWebhook returns the endpoint of the path. It returns false after it has answered with
// a fault.
func readWebhook(d *adminRequest) (w *apiWebhook, version string, ok bool) {
	w = &apiWebhook{}
	version, ok = d.read(webhooksAPI+"/"+url.PathEscape(d.pathID()), w)
	return w, version, ok
}

// listWebhookValues returns the values of the form of an endpoint.
func listWebhookValues(w *apiWebhook) url.Values {
	v := url.Values{
		"url": {w.URL}, "events": w.Events, "rate": {strconv.FormatFloat(w.RatePerSecond, 'f', -1, 64)}, "timeout": {strconv.Itoa(w.TimeoutSeconds)},
		"rooms": {joinRooms(w.Rooms)}, "readers": {strings.Join(w.ReaderKeyIDs, ", ")}, "enabled": {"no"},
	}
	if w.Enabled {
		v.Set("enabled", "yes")
	}
	return v
}

func editWebhook(d *adminRequest, status int, refused *apicall.Refusal) {
	w, version, ok := readWebhook(d)
	if !ok {
		return
	}
	out := webhookPage{adminPage: d.newPage("hooks.edit"), Form: newWebhookForm(d, listWebhookValues(w), refused), Hook: newWebhookRow(d, w), Version: version}
	out.Form.was = listWebhookValues(w)
	if refused.IsOvertaken() {
		out.Refused = []string{d.T("int.overtaken")}
		out.Changed = d.compareValues(out.Form.was, [2]string{"url", "hooks.url"}, [2]string{"events", "hooks.events"}, [2]string{"rooms", "hooks.rooms"},
			[2]string{"rate", "hooks.rate"}, [2]string{"timeout", "hooks.timeout"}, [2]string{"readers", "hooks.readers"}, [2]string{"enabled", "hooks.enabled"})
	}
	showWebhookForm(d, status, &out, refused)
}

func changeWebhook(d *adminRequest) {
	var changed apiWebhook
	path := webhooksAPI + "/" + url.PathEscape(d.pathID())
	refused, ok := d.send(http.MethodPatch, path, d.formVersion(), readWebhookForm(d), &changed)
	switch {
	case refused != nil:
		editWebhook(d, refused.PageStatus(), refused)
	case ok:
		d.waitForVersion(path, strconv.FormatInt(changed.Version, 10))
		d.leaveNotice(d.pathTo(changed.ID), "hooks.changed")
	}
}

// showWebhookQuestion asks whether to do something to the endpoint of the path.
func showWebhookQuestion(d *adminRequest, status int, title string, refused *apicall.Refusal, words ...string) {
	w, version, ok := readWebhook(d)
	if !ok {
		return
	}
	out := webhookPage{adminPage: d.newPage(title), Form: d.newForm(url.Values{"overlap": {"24"}}, refused).usePath("overlap", "overlapHours"), Hook: newWebhookRow(d, w), Version: version}
	for _, hours := range []string{"0", "1", "24", "168"} {
		out.Overlaps = append(out.Overlaps, option{Value: hours, Name: d.T("hooks.overlap." + hours), Chosen: out.Form.Has("overlap", hours)})
	}
	out.Refused = append(out.Form.listRefusals("overlap", "secret"), words...)
	out.Form.was = listWebhookValues(w)
	if refused.IsOvertaken() {
		out.Refused = []string{d.T("int.overtaken")}
		out.Changed = d.compareValues(out.Form.was, [2]string{"url", "hooks.url"}, [2]string{"events", "hooks.events"}, [2]string{"rooms", "hooks.rooms"}, [2]string{"enabled", "hooks.enabled"})
	}
	d.show(status, strings.Replace(title, "hooks.", "webhooks.", 1), &out)
}

func askToRotateSecret(d *adminRequest) {
	if d.requireFreshSignIn() {
		showWebhookQuestion(d, http.StatusOK, "hooks.rotate", nil)
	}
}

func askToDeleteWebhook(d *adminRequest) {
	if d.requireFreshSignIn() {
		showWebhookQuestion(d, http.StatusOK, "hooks.delete", nil)
	}
}

func rotateSecret(d *adminRequest) {
	var made apiWebhook
	body := map[string]any{"overlapHours": parseNumber(d.r.PostForm.Get("overlap"))}
	if secret := d.r.PostForm.Get("secret"); secret != "" {
		body["secret"] = secret
		d.r.PostForm.Del("secret")
	}
	refused, ok := d.send(http.MethodPost, webhooksAPI+"/"+url.PathEscape(d.pathID())+"/rotate", d.formVersion(), body, &made)
	switch {
	case refused != nil:
		showWebhookQuestion(d, refused.PageStatus(), "hooks.rotate", refused)
	case ok:
		showSecretOnce(d, &made)
	}
}

func deleteWebhook(d *adminRequest) {
	w, _, ok := readWebhook(d)
	if !ok {
		return
	}
	if strings.TrimSpace(d.r.PostForm.Get("name")) != w.URL {
		showWebhookQuestion(d, http.StatusUnprocessableEntity, "hooks.delete", nil, d.T("int.typed"))
		return
	}
	path := webhooksAPI + "/" + url.PathEscape(d.pathID())
	refused, ok := d.send(http.MethodDelete, path, d.formVersion(), nil, nil)
	switch {
	case refused != nil:
		showWebhookQuestion(d, refused.PageStatus(), "hooks.delete", refused)
	case ok:
		d.waitUntil(func() bool { return d.isMissing(path) })
		d.leaveNotice(d.pathTo(), "hooks.deleted", "url", w.URL)
	}
}

// showWebhook shows an endpoint with the deliveries to it.
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
	var list deliveryList
	refused, ok := d.send(http.MethodGet, webhooksAPI+"/"+url.PathEscape(w.ID)+"/deliveries?"+q.Encode(), "", nil, &list)
	if !ok {
		return
	}
	out := webhookPage{adminPage: d.newPage("hooks.one"), Form: d.newForm(d.r.URL.Query(), refused), Hook: newWebhookRow(d, w), Version: version, Samples: webhookEvents, Pager: d.newCursorPager(textOrEmpty(list.Next))}
	out.Heading = w.URL
	out.Refused = out.Form.listRefusals("state", "event")
	for _, s := range w.Secrets {
		out.Secrets = append(out.Secrets, d.T("hooks.secret."+s.State, "id", s.ID, "time", d.formatTime(s.Until)))
	}
	for _, state := range deliveryStates {
		out.States = append(out.States, option{Value: state, Name: d.T("delivery." + state), Chosen: out.Form.Value("state") == state})
	}
	for i := range list.Items {
		out.Rows = append(out.Rows, newDeliveryRow(d, &list.Items[i]))
	}
	status := http.StatusOK
	if refused != nil {
		status = refused.PageStatus()
	}
	d.show(status, "webhooks.one", &out)
}
