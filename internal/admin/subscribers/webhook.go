package subscribers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
	"svc/internal/signature"
)

// Names of actions in the audit log.
const (
	actWebhookCreate = "webhook.create"
	actWebhookChange = "webhook.change"
	actWebhookDelete = "webhook.delete"
)

// Limits for an endpoint's settings.
const (
	maxWebhooks = 50 // per hospital
	maxRooms    = 500
	leastSecret = 24 // minimum length of a secret that the partner chose
	mostSecret  = 128
)

// eventNames are the events to which an endpoint can subscribe.
var eventNames = []string{outbound.Ping, outbound.LevelChanged, outbound.RoomRescored, outbound.Alert}

func endpointWrites() []contract.Route[*webhooks] {
	id := idOf("webhook", "whk_0123456789abcdef")
	return []contract.Route[*webhooks]{
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/webhooks", ID: "createWebhook", Summary: "Create a webhook",
			About: "The response contains the signing secret, which cannot be shown again. The endpoint receives events from now on. The " +
				"address is " +
				"checked now and at each connection; a name that does not resolve yet causes a warning.",
			Bodies: body(webhookShape{},
				contract.Example{Name: "All events of the unit", Text: `{"url":"https://partner.example/svc/events"}`},
				contract.Example{
					Name: "Two rooms, with a secret chosen by the partner",
					Text: `{"url":"https://partner.example/svc/rooms","events":["room.rescored"],"rooms":[1,4],` +
						`"ratePerSecond":20,"timeoutSeconds":5,"secret":"an example, not a secret at all"}`,
				}),
			Data: createdWebhook{}, Tagged: true, Refuses: []problem.Kind{problem.Unprocessable},
			Limits: map[string]int64{"webhooks": maxWebhooks, "webhookRooms": maxRooms},
		}, Serve: (*webhooks).createWebhook},
		{Operation: contract.Operation{
			Method: http.MethodPatch, Path: "/api/admin/webhooks/{id}", ID: "changeWebhook", Summary: "Change a webhook",
			About: "Omitted fields are unchanged. A disabled endpoint is paused: its events are sent when it is enabled again. Any change, " +
				"or enabled: true, enables an endpoint that was disabled because it failed." + unchangedAbout,
			Parameters: []contract.Parameter{id, ifMatch},
			Bodies:     body(webhookChangeShape{}, contract.Example{Name: "Pause", Text: `{"enabled":false}`}),
			Data:       changedWebhook{}, Tagged: true, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
		}, Serve: (*webhooks).changeWebhook},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/webhooks/{id}", ID: "deleteWebhook", Summary: "Remove a webhook",
			About:      "Attempts in progress are completed; pending deliveries are canceled.",
			Parameters: []contract.Parameter{id, ifMatch},
			Data:       webhookRow{}, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
		}, Serve: (*webhooks).deleteWebhook},
	}
}

func endpointReads() []contract.Route[*webhooks] {
	return []contract.Route[*webhooks]{
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/webhooks", ID: "listWebhooks", Summary: "List the webhooks of the hospital, oldest first",
			About: "Each webhook includes its health; null if it is currently unknown.", Data: webhookList{},
		}, Serve: (*webhooks).listWebhooks},
		{Operation: contract.Operation{
			Method: http.MethodGet, Path: "/api/admin/webhooks/{id}", ID: "getWebhook", Summary: "Get one webhook",
			Parameters: []contract.Parameter{idOf("webhook", "whk_0123456789abcdef")},
			Data:       webhookRow{}, Tagged: true, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*webhooks).getWebhook},
	}
}

// webhookSettings are the settings that may change at any time. They are decoded into the current settings, so a
// setting that the body omits is unchanged.
type webhookSettings struct {
	Events         []string `json:"events,omitempty" minItems:"1" enum:"ping,surge.level_changed,room.rescored,surge.alert" uniqueItems:"true" doc:"Event types to send. Default: surge.level_changed and room.rescored."`
	Rooms          []int32  `json:"rooms,omitempty" minItems:"1" maxItems:"500" minimum:"0" maximum:"2147483647" uniqueItems:"true" doc:"Rooms whose room.rescored events are sent; null: all rooms."`
	Enabled        *bool    `json:"enabled,omitempty" doc:"Default true."`
	RatePerSecond  float64  `json:"ratePerSecond,omitempty" minimum:"0.1" maximum:"500" doc:"Maximum deliveries per second. Default 50."`
	TimeoutSeconds int      `json:"timeoutSeconds,omitempty" minimum:"1" maximum:"30" doc:"Timeout of one attempt. Default 10."`
	ReaderKeyIDs   []string `json:"readerKeyIds,omitempty" maxItems:"50" doc:"Ids of keys that may list the deliveries to this endpoint; their successors may, too."`
}

type webhookShape struct {
	URL string `json:"url" minLength:"1" maxLength:"2048" doc:"https URL without user name and password."`
	webhookSettings
	Secret *string `json:"secret,omitempty" pattern:"secret" doc:"Secret chosen by the partner, in visible ASCII. Default: a generated one, whsec_ and 32 bytes in base64."`
}

type webhookChangeShape struct {
	URL *string `json:"url,omitempty" minLength:"1" maxLength:"2048"`
	webhookSettings
}

type webhookRow struct {
	ID             string       `json:"id"`
	URL            string       `json:"url"`
	Events         []string     `json:"events"`
	Rooms          *[]int32     `json:"rooms"` // null: all rooms
	Enabled        bool         `json:"enabled"`
	RatePerSecond  float64      `json:"ratePerSecond"`
	TimeoutSeconds int          `json:"timeoutSeconds"`
	ReaderKeyIDs   []string     `json:"readerKeyIds"`
	Secrets        []secretRow  `json:"secrets"`
	Status         *string      `json:"status"`       // active, failing or disabled; null: unknown
	Reason         *string      `json:"reason"`       // why the webhook is disabled: paused, gone or failing
	FailingSince   httpapi.Time `json:"failingSince"` // null: not failing
	Waiting        *int         `json:"waiting"`      // number of pending deliveries; null: unknown
	Version        int64        `json:"version"`      // also the entity tag
	CreatedAt      httpapi.Time `json:"createdAt"`
}

type secretRow struct {
	ID    string       `json:"id"`
	State string       `json:"state"` // next, current or previous
	Until httpapi.Time `json:"until"` // end of the state: a next secret becomes current, any other secret stops signing; null: never
}

type createdWebhook struct {
	webhookRow
	Secret   string            `json:"secret"` // shown once
	Warnings []httpapi.Warning `json:"warnings"`
}

type changedWebhook struct {
	webhookRow
	Warnings []httpapi.Warning `json:"warnings"`
}

type webhookList struct {
	Webhooks []webhookRow `json:"webhooks"`
}

func (s *webhooks) webhookRow(ctx context.Context, w *subscriber.Webhook) webhookRow {
	row := webhookRow{
		ID: w.ID, URL: w.URL, Events: w.Events, Enabled: w.Enabled, RatePerSecond: w.RatePerSecond,
		TimeoutSeconds: w.TimeoutSeconds, ReaderKeyIDs: append([]string{}, w.ReaderKeys...), Secrets: []secretRow{},
		Version: w.Version, CreatedAt: httpapi.Time(w.CreatedAt),
	}
	if w.Rooms != nil {
		row.Rooms = &w.Rooms
	}
	for _, secret := range signature.At(w.Secrets, s.Shell.Now()) {
		row.Secrets = append(row.Secrets, secretRow{secret.ID, secretStates[secret.State], httpapi.Time(secret.Until)})
	}
	health, known, err := s.Lists.Health(ctx, w.Hospital, w.ID)
	switch {
	case err != nil: // the list is useful even without the health of the endpoints
		s.Shell.Log.WarnContext(ctx, "endpoint health not read", "error", err)
	case !known: // no event was ever sent to the endpoint
		health = outbound.Health{Status: "active"}
		fallthrough
	default:
		row.Status, row.Reason = some(health.Status), some(health.Reason)
		row.FailingSince, row.Waiting = httpapi.Time(health.FailingSince), &health.Waiting
	}
	switch {
	case !w.Enabled:
		row.Status, row.Reason = some("disabled"), some("paused")
	case row.Status != nil && *row.Status == "disabled" && row.Reason == nil: // the notifier does not know yet that the pause has ended
		row.enable()
	}
	return row
}

// enable changes the status of a disabled webhook to the one that it has as soon as the notifier has enabled it.
func (r *webhookRow) enable() {
	r.Status, r.Reason = some("active"), nil
	if !time.Time(r.FailingSince).IsZero() {
		r.Status = some("failing")
	}
}

// changedRow returns a webhook after a change. The change also enables a webhook that svc has disabled, although its
// health in the lists still precedes the change.
func (s *webhooks) changedRow(ctx context.Context, w *subscriber.Webhook) webhookRow {
	row := s.webhookRow(ctx, w)
	if w.Enabled && row.Status != nil && *row.Status == "disabled" {
		row.enable()
	}
	return row
}

func (s *webhooks) listWebhooks(w http.ResponseWriter, r *http.Request) {
	all := slices.Clone(s.Register.Webhooks(hospitalOf(r)))
	slices.SortStableFunc(all, func(a, b *subscriber.Webhook) int { return a.CreatedAt.Compare(b.CreatedAt) })
	list := webhookList{Webhooks: make([]webhookRow, len(all))}
	for i, one := range all {
		list.Webhooks[i] = s.webhookRow(r.Context(), one)
	}
	httpapi.OK(w, r, list)
}

// findWebhook returns the webhook in the path. If it returns false, it has sent an error response.
func (s *webhooks) findWebhook(w http.ResponseWriter, r *http.Request) (*subscriber.Webhook, bool) {
	found, ok := s.Register.Webhook(hospitalOf(r), pathID(r))
	if !ok {
		missing(w, r)
	}
	return found, ok
}

func (s *webhooks) getWebhook(w http.ResponseWriter, r *http.Request) {
	if found, ok := s.findWebhook(w, r); ok {
		answer(w, r, found.Version, s.webhookRow(r.Context(), found))
	}
}

func (s *webhooks) createWebhook(w http.ResponseWriter, r *http.Request) {
	in := webhookShape{webhookSettings: webhookSettings{
		RatePerSecond: outbound.DefaultRate, TimeoutSeconds: outbound.DefaultTimeout,
	}}
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	hook := &subscriber.Webhook{Hospital: hospitalOf(r), URL: in.URL, Enabled: true, Version: 1, CreatedAt: cut(s.Shell.Now())}
	f := faultsOf(&in)
	s.set(&f, hook, &in.webhookSettings)
	secret := secretOf(&f, in.Secret)
	if f.answered(w, r) {
		return
	}
	if !s.checkURL(w, r, hook, &warnings) {
		return
	}
	hook.ID = "whk_" + access.RandomHex(8)
	hook.Secrets = []subscriber.Secret{{ID: "sec_" + access.RandomHex(4), Value: secret, State: subscriber.SecretCurrent}}

	seen, end := s.begin()
	defer end()
	if len(s.Register.Webhooks(hook.Hospital)) >= maxWebhooks {
		unprocessable(w, r, "The hospital has reached the limit of 50 webhooks; remove one first.", "", "maxItems:"+strconv.Itoa(maxWebhooks))
		return
	}
	put := func(ctx context.Context) error { return s.Store.PutWebhook(ctx, seen, hook) }
	if s.perform(w, r, actWebhookCreate, hook.ID, 0, hook.Version, put) {
		answer(w, r, hook.Version, createdWebhook{s.webhookRow(r.Context(), hook), secret, warnings})
	}
}

func (s *webhooks) changeWebhook(w http.ResponseWriter, r *http.Request) {
	old, known := s.Register.Webhook(hospitalOf(r), pathID(r))
	if !known { // a malformed body is reported even if the webhook is unknown
		old = &subscriber.Webhook{URL: "-", RatePerSecond: outbound.DefaultRate, TimeoutSeconds: outbound.DefaultTimeout}
	}
	in := webhookChangeShape{webhookSettings: webhookSettings{
		Events: slices.Clone(old.Events), Rooms: slices.Clone(old.Rooms), ReaderKeyIDs: slices.Clone(old.ReaderKeys),
		RatePerSecond: old.RatePerSecond, TimeoutSeconds: old.TimeoutSeconds,
	}}
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	hook := *old
	hook.Version++
	if in.URL != nil {
		hook.URL = *in.URL
	}
	f := faultsOf(&in)
	s.set(&f, &hook, &in.webhookSettings)
	switch {
	case f.answered(w, r):
		return
	case !known:
		missing(w, r)
		return
	case !requireMatch(w, r, old.Version), hook.URL != old.URL && !s.checkURL(w, r, &hook, &warnings):
		return
	case sameWebhookSettings(&hook, old) && !(in.Enabled != nil && *in.Enabled && s.mayBeDisabled(r.Context(), old)):
		answer(w, r, old.Version, changedWebhook{s.webhookRow(r.Context(), old), append(warnings, unchanged)})
		return
	}
	seen, end := s.begin() // begin after the body is read and the name resolved, because both are slow and must not block other changes
	defer end()
	if now, _ := s.Register.Webhook(hook.Hospital, hook.ID); now == nil || now.Version != old.Version {
		httpapi.Fail(w, r, overtaken)
		return
	}
	put := func(ctx context.Context) error { return s.Store.PutWebhook(ctx, seen, &hook) }
	if s.perform(w, r, actWebhookChange, hook.ID, old.Version, hook.Version, put) {
		answer(w, r, hook.Version, changedWebhook{s.changedRow(r.Context(), &hook), warnings})
	}
}

// sameWebhookSettings reports whether two versions of a webhook have the same settings.
func sameWebhookSettings(a, b *subscriber.Webhook) bool {
	return a.URL == b.URL && slices.Equal(a.Events, b.Events) && slices.Equal(a.Rooms, b.Rooms) && a.Enabled == b.Enabled &&
		a.RatePerSecond == b.RatePerSecond && a.TimeoutSeconds == b.TimeoutSeconds && slices.Equal(a.ReaderKeys, b.ReaderKeys)
}

// mayBeDisabled reports whether svc may have disabled a webhook because it failed.
func (s *webhooks) mayBeDisabled(ctx context.Context, w *subscriber.Webhook) bool {
	health, _, err := s.Lists.Health(ctx, w.Hospital, w.ID)
	return err != nil || health.Status == "disabled"
}

// checkURL checks the URL of an endpoint and may add a warning. If it returns false, it has sent an error response.
func (s *webhooks) checkURL(w http.ResponseWriter, r *http.Request, hook *subscriber.Webhook, warnings *[]httpapi.Warning) bool {
	refused, warning := s.Check(r.Context(), hook.Hospital, hook.URL)
	if warning != "" {
		*warnings = append(*warnings, httpapi.Warning{Code: warning, Path: "url"})
	}
	f := faults{}
	f.fits(refused == "", "url", refused)
	return !f.answered(w, r)
}

// set copies the settings of a request to w. It adds a fault for each new reader key that is not a key of the
// hospital.
func (s *webhooks) set(f *faults, w *subscriber.Webhook, in *webhookSettings) {
	if in.Events == nil {
		in.Events = []string{outbound.LevelChanged, outbound.RoomRescored}
	}
	for i, id := range in.ReaderKeyIDs {
		if slices.Contains(w.ReaderKeys, id) {
			continue // an unchanged reader key is accepted, even if it no longer exists
		}
		key, known := s.Key(id)
		f.fits(known && key.Hospital == w.Hospital, item("readerKeyIds", i), "key")
	}
	w.Events, w.Rooms, w.ReaderKeys = in.Events, in.Rooms, in.ReaderKeyIDs
	if in.Enabled != nil {
		w.Enabled = *in.Enabled
	}
	w.RatePerSecond, w.TimeoutSeconds = in.RatePerSecond, in.TimeoutSeconds
}

func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// secretOf returns the secret that the partner chose, or a random secret.
func secretOf(f *faults, own *string) string {
	if own == nil {
		secret := make([]byte, 32)
		rand.Read(secret) // never returns an error: crypto/rand ends the program instead
		return "whsec_" + base64.StdEncoding.EncodeToString(secret)
	}
	if rule := httpapi.LengthRule(*own, strconv.Itoa(leastSecret), strconv.Itoa(mostSecret)); rule != "" {
		f.unless(false, "secret", rule)
	}
	f.unless(!strings.ContainsFunc(*own, func(c rune) bool { return c < ' ' || c > '~' }), "secret", "ascii")
	return *own
}

func (s *webhooks) deleteWebhook(w http.ResponseWriter, r *http.Request) {
	seen, end := s.begin()
	defer end()
	old, ok := s.findWebhook(w, r)
	if !ok || !requireMatch(w, r, old.Version) {
		return
	}
	for _, p := range s.Register.Recipients(old.Hospital) {
		if p.WebhookID == old.ID {
			unprocessable(w, r, "A recipient of alerts uses this webhook; change the recipient first.", "recipients", "in_use")
			return
		}
	}
	drop := func(ctx context.Context) error { return s.Store.DropWebhook(ctx, seen, old.Hospital, old.ID) }
	if s.perform(w, r, actWebhookDelete, old.ID, old.Version, 0, drop) {
		httpapi.OK(w, r, s.webhookRow(r.Context(), old))
	}
}
