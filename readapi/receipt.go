package readapi

import (
	"context"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
)

// receiptAtMost is the maximum length of a provider's delivery report in bytes.
const receiptAtMost = 16 << 10

// receiptReader parses and verifies a receipt that an SMS provider posted. The result forged reports whether the
// signature is invalid.
type receiptReader func(r *http.Request, body []byte) (c outbound.Command, forged bool, err error)

// Receipts processes the delivery reports of SMS providers.
type Receipts struct {
	Shell *httpapi.Shell
	HTTP  receiptReader // parses receipts for the driver http; nil: the driver is not in use
	Order func(ctx context.Context, c *outbound.Command) error

	// Twilio parses receipts for the driver twilio; nil: the driver is not in use. Its path is not documented as an
	// API operation, because Twilio defines the body and the signature, and is the only caller.
	Twilio receiptReader
}

// MountReceipts adds the paths to which providers report the result of an SMS. They need no API key: the signature
// authenticates the body.
func MountReceipts(r chi.Router, s Receipts) {
	contract.Mount(r, s.Shell, &s, receiptRoutes())
	if s.Twilio != nil {
		r.Post("/api/public/sms/twilio", func(w http.ResponseWriter, r *http.Request) { s.accept(w, r, s.Twilio) })
	}
}

func receiptRoutes() []contract.Route[*Receipts] {
	const id = "dlv_0123456789abcdef0123456789abcdef"
	return []contract.Route[*Receipts]{{Operation: contract.Operation{
		Method: http.MethodPost, Path: "/api/public/sms/http", ID: "sendReceipt", Group: "Alerts",
		Summary: "Receive the delivery receipt of an SMS",
		About: "For the gateway of `SVC_SMS_DRIVER=http`: path and query are the `callback` of the message. " +
			"Signed like the message, with the shared token. The status `failed` notifies another recipient if none was reached. " +
			"404 if no such gateway is configured.",
		Parameters: []contract.Parameter{
			{Name: "h", In: "query", Needed: true, Example: "demo", About: "Hospital id, from the callback URL of the message."},
			{Name: "d", In: "query", Needed: true, Example: id, About: "Message id, from the callback URL."},
			{
				Name: "X-Svc-Signature", In: "header", Needed: true, Example: "sha256=" + exampleReceiptSignature,
				About: "sha256= and the HMAC-SHA256 of the body in lower-case hex, with the token as the key.",
			},
		},
		Bodies: []contract.Body{{
			Type: "application/json", Shape: receiptShape{}, Limit: receiptAtMost,
			Examples: []contract.Example{{Name: "It did not arrive", Text: `{"id":"` + id + `","status":"failed"}`}},
		}},
		Refuses: []problem.Kind{problem.Unauthorized, problem.Missing},
	}, Serve: func(s *Receipts, w http.ResponseWriter, r *http.Request) { s.accept(w, r, s.HTTP) }}}
}

// exampleReceiptSignature is the signature of the example body with the token of svc dev.
const exampleReceiptSignature = "0ea1a522bc83fd4427ed9103e756ae0693b9136a9651736676bf46de732f9761"

// receiptShape is the body that a gateway posts.
type receiptShape struct {
	ID     string `json:"id" doc:"Of the message."`
	Status string `json:"status" doc:"delivered or failed; any other status means in transit."`
}

// accept parses and verifies a delivery report, and passes it to the notifier.
func (s *Receipts) accept(w http.ResponseWriter, r *http.Request, read receiptReader) {
	if read == nil {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, receiptAtMost))
	if err != nil {
		httpapi.Fail(w, r, httpapi.Unread(err))
		return
	}
	c, forged, err := read(r, body)
	switch {
	case forged:
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unauthorized, Message: "The receipt signature is not valid for the token " +
			"of the gateway."})
		return
	case err != nil:
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid})
		return
	}
	if c.Receipt != "" { // an empty receipt means that the SMS has no final state yet, so nothing changes
		c.ID, c.Verb, c.At, c.By = "cmd_"+access.RandomHex(8), outbound.VerbReceipt, s.Shell.Now().UTC(), "provider"
		if err := s.Order(r.Context(), &c); err != nil {
			httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
