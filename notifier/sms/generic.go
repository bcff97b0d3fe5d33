package sms

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/json"
	"net/http"
	"net/url"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/signature"
	"svc/notifier/outcome"
)

// generic sends requests in svc's own format, which a small adapter can translate for any gateway:
//
//	POST {id, to, text, validitySeconds, callback}, X-Svc-Signature
//
// A request may be repeated, so the gateway must send messages with the same id only once. Any 2xx means accepted. A
// receipt is {id, status: delivered|failed}, signed in the same way.
type generic struct{ provider }

type genericMessage struct {
	ID              string `json:"id"`
	To              string `json:"to"`
	From            string `json:"from,omitempty"`
	Text            string `json:"text"`
	ValiditySeconds int    `json:"validitySeconds"`
	Callback        string `json:"callback,omitempty"`
}

// Send implements [sending.Sender].
func (g *generic) Send(ctx context.Context, m sending.Message) sending.Result {
	return g.timed(func() sending.Result { return g.send(ctx, &m) })
}

func (g *generic) send(ctx context.Context, m *sending.Message) sending.Result {
	body, err := json.Marshal(genericMessage{
		ID: m.DeliveryID, To: m.To, From: g.config.From, Text: m.Text, ValiditySeconds: g.left(m), Callback: g.callback(m),
	})
	if err != nil {
		return sending.Result{Class: sending.ClassStatus, Final: true}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.config.URL, bytes.NewReader(body))
	if err != nil {
		return sending.Result{Class: sending.ClassStatus, Final: true}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "svc-sms/1")
	request.Header.Set(signature.HeaderBody, signature.Body(g.config.Token, body))
	status, header, answer, failure := g.exchange(ctx, request)
	if status == 0 {
		return failure
	}
	r := g.judge(status, header)
	r.Response = outcome.CleanResponse(string(answer), m.To)
	return r
}

// Receipt implements [Gateway].
func (g *generic) Receipt(self *url.URL, header http.Header, body []byte) (Receipt, error) {
	if !hmac.Equal([]byte(header.Get(signature.HeaderBody)), []byte(signature.Body(g.config.Token, body))) {
		return Receipt{}, ErrForged
	}
	var got struct{ ID, Status string }
	r := Receipt{Hospital: self.Query().Get("h"), DeliveryID: self.Query().Get("d")}
	if err := json.Unmarshal(body, &got); err != nil || r.Hospital == "" || r.DeliveryID == "" || got.ID != r.DeliveryID {
		return Receipt{}, ErrMalformed
	}
	switch got.Status {
	case "delivered":
		r.State = outbound.Delivered
	case "failed":
		r.State = outbound.Failed
	}
	return r, nil
}
