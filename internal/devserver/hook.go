package devserver

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/cli"
	"svc/internal/outbound"
	"svc/internal/receiver"
	"svc/internal/signature"
)

// The receiver of svc dev lets one try a first webhook without a partner.
const hookPath = "/dev/hook"

//go:embed hook.html
var hookPage string

// hookKept is how many deliveries the page shows.
const hookKept = 200

// hook shows the deliveries that svc dev sends to itself. It takes the secrets from the
// settings of the server, so it verifies any webhook that points here.
type hook struct {
	*receiver.Receiver
	page *template.Template

	mu     sync.Mutex
	latest []*receiver.Delivery // newest first
}

// mountHook adds the routes of the receiver and its page. webhooks returns the webhooks of a
// hospital, with their secrets.
func mountHook(r chi.Router, webhooks func(hospital string) []*outbound.Webhook, now func() time.Time) {
	d := &hook{page: template.Must(template.New("hook").Funcs(template.FuncMap{
		"pretty": func(payload json.RawMessage) (string, error) {
			var text bytes.Buffer
			err := json.Indent(&text, payload, "", "  ")
			return text.String(), err
		},
	}).Parse(hookPage))}
	d.Receiver = &receiver.Receiver{Now: now, Answer: http.StatusNoContent, Strict: true, OnDelivery: d.keep, Secrets: func(hospital string) []receiver.Secret {
		var all []receiver.Secret
		for _, w := range webhooks(hospital) {
			for _, s := range signature.At(w.Secrets, now()) {
				all = append(all, receiver.Secret{Endpoint: w.ID, Value: s.Value})
			}
		}
		return all
	}}
	r.Method(http.MethodPost, hookPath, d)
	r.Get(hookPath, d.show)
	r.Get(hookPath+".json", d.list)
}

func (d *hook) keep(one *receiver.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = slices.Insert(d.latest, 0, one)
	d.latest = d.latest[:min(len(d.latest), hookKept)]
}

func (d *hook) deliveries() []*receiver.Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.latest)
}

func (d *hook) show(w http.ResponseWriter, _ *http.Request) {
	// The policy of the API allows no styles. This page has one, and no script.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	d.page.Execute(w, d.deliveries()) //nolint:errcheck // the browser is gone
}

func (d *hook) list(w http.ResponseWriter, _ *http.Request) {
	items := d.deliveries()
	if items == nil {
		items = []*receiver.Delivery{}
	}
	w.Header().Set("Content-Type", "application/json")
	cli.PrintJSON(w, map[string]any{"items": items}) //nolint:errcheck // the browser is gone
}
