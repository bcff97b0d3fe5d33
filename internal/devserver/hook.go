package devserver

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/outbound"
	"svc/internal/receiver"
	"svc/internal/signature"
)

// The receiver of svc dev lets one try a first webhook without a partner.
const hookPath = "/dev/hook"

//go:embed hook.html
var hookPage string

// mountHook adds the receiver and its page, which shows the deliveries that svc dev sends to itself.
// webhooks returns the webhooks of a hospital, with their secrets. So the receiver verifies any
// webhook that points here.
func mountHook(r chi.Router, webhooks func(hospital string) []*outbound.Webhook, now func() time.Time) {
	p := &latestPage[receiver.Delivery]{html: template.Must(template.New("hook").Funcs(template.FuncMap{
		"pretty": func(payload json.RawMessage) (string, error) {
			var text bytes.Buffer
			err := json.Indent(&text, payload, "", "  ")
			return text.String(), err
		},
	}).Parse(hookPage))}
	r.Method(http.MethodPost, hookPath, &receiver.Receiver{Now: now, Answer: http.StatusNoContent, Strict: true, OnDelivery: p.keep, Secrets: func(hospital string) []receiver.Secret {
		var all []receiver.Secret
		for _, w := range webhooks(hospital) {
			for _, s := range signature.At(w.Secrets, now()) {
				all = append(all, receiver.Secret{Endpoint: w.ID, Value: s.Value})
			}
		}
		return all
	}})
	p.mount(r, hookPath)
}
