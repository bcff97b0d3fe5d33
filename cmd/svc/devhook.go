package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"sync"

	"svc/internal/cli"
	"svc/internal/receiver"
	"svc/internal/signature"
)

// The receiver of svc dev lets one try a first webhook without a partner.
const devHookPath = "/dev/hook"

//go:embed devhook.html
var devHookPage string

// devHookKept is how many deliveries the page shows.
const devHookKept = 200

// devHook shows the deliveries that svc dev sends to itself. It takes the secrets from the
// settings of the server, so it verifies any webhook that points here.
type devHook struct {
	*receiver.Receiver
	page *template.Template

	mu     sync.Mutex
	latest []*receiver.Delivery // newest first
}

// mountDevHook adds the routes of the receiver and its page.
func (h *service) mountDevHook() {
	d := &devHook{page: template.Must(template.New("hook").Funcs(template.FuncMap{
		"pretty": func(payload json.RawMessage) (string, error) {
			var text bytes.Buffer
			err := json.Indent(&text, payload, "", "  ")
			return text.String(), err
		},
	}).Parse(devHookPage))}
	d.Receiver = &receiver.Receiver{Now: h.now, Answer: http.StatusNoContent, Strict: true, OnDelivery: d.keep, Secrets: func(hospital string) []receiver.Secret {
		var all []receiver.Secret
		for _, w := range h.settings.subscribers.Webhooks(hospital) {
			for _, s := range signature.At(w.Secrets, h.now()) {
				all = append(all, receiver.Secret{Endpoint: w.ID, Value: s.Value})
			}
		}
		return all
	}}
	h.router.Method(http.MethodPost, devHookPath, d)
	h.router.Get(devHookPath, d.show)
	h.router.Get(devHookPath+".json", d.list)
}

func (d *devHook) keep(one *receiver.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = slices.Insert(d.latest, 0, one)
	d.latest = d.latest[:min(len(d.latest), devHookKept)]
}

func (d *devHook) deliveries() []*receiver.Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.latest)
}

func (d *devHook) show(w http.ResponseWriter, _ *http.Request) {
	// The policy of the API allows no styles. This page has one, and no script.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	d.page.Execute(w, d.deliveries()) //nolint:errcheck // the browser is gone
}

func (d *devHook) list(w http.ResponseWriter, _ *http.Request) {
	items := d.deliveries()
	if items == nil {
		items = []*receiver.Delivery{}
	}
	w.Header().Set("Content-Type", "application/json")
	cli.PrintJSON(w, map[string]any{"items": items}) //nolint:errcheck // the browser is gone
}
