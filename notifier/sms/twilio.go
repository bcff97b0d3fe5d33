package sms

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the provider's signature scheme
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/notifier/outcome"
)

// defaultListDelay is the maximum time from a request with an unknown outcome until its message appears in the
// provider's list.
const defaultListDelay = 30 * time.Second

// twilio uses the Messages resource of Twilio's API version 2010-04-01, which other providers also offer.
//
// The API has no idempotency key. Therefore each attempt first lists the messages that were sent to the same number
// since the message was written. A message with the same text comes from an earlier attempt, whose result a crash may
// have lost. After an unknown outcome (a 5xx or a timeout), the next attempt waits until the message would be in the
// list, and is made only if the list can be read.
type twilio struct {
	provider
	listDelay time.Duration
}

const (
	// sameWithin is the longest period in which a message with the same text is considered the same message. Texts
	// contain the time of day, so two alerts within half a day are equal only within one minute, or within the hour
	// that is repeated when clocks are set back.
	sameWithin = 12 * time.Hour
	// clocksDiffer is how far the clocks of the provider and of this process may differ.
	clocksDiffer = 5 * time.Second
)

// firstLookUp is the timeout for reading the list before the first attempt. If the list cannot be read in time, the
// first attempt is made without it.
const firstLookUp = 3 * time.Second

// longestValidity is the provider's maximum ValidityPeriod in seconds.
const longestValidity = 36_000

type twilioMessage struct {
	SID     string `json:"sid"`
	Body    string `json:"body"`
	Status  string `json:"status"`
	Created string `json:"date_created"` // in the format of RFC 2822
	Code    int    `json:"code"`         // error code
	Message string `json:"message"`
}

// Send implements [sending.Sender].
func (w *twilio) Send(ctx context.Context, m sending.Message) sending.Result {
	return w.timed(func() sending.Result { return w.send(ctx, &m) })
}

func (w *twilio) send(ctx context.Context, m *sending.Message) sending.Result {
	if m.Attempt > 1 {
		if found, r := w.lookUp(ctx, m); found || r.Class != "" {
			return r
		}
	} else {
		soon, cancel := context.WithTimeout(ctx, firstLookUp)
		found, r := w.lookUp(soon, m)
		cancel()
		if found {
			return r
		}
	}
	form := url.Values{"To": {m.To}, "Body": {m.Text}, "ValidityPeriod": {strconv.Itoa(min(w.left(m), longestValidity))}}
	if strings.HasPrefix(w.config.From, "MG") {
		form.Set("MessagingServiceSid", w.config.From)
	} else {
		form.Set("From", w.config.From)
	}
	if callback := w.callback(m); callback != "" {
		form.Set("StatusCallback", callback)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.messages(), strings.NewReader(form.Encode()))
	if err != nil {
		return sending.Result{Class: sending.ClassStatus, Final: true}
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, header, body, failure := w.exchange(ctx, w.signIn(request))
	if status == 0 {
		return w.delayUnclear(failure)
	}
	r := w.judge(status, header)
	var got twilioMessage
	switch err := json.Unmarshal(body, &got); {
	case r.Class == sending.ClassOK && (err != nil || got.SID == ""):
		r = w.delayUnclear(sending.Result{Class: sending.ClassStatus, Status: status})
	case r.Class == sending.ClassOK:
		r.Response = got.SID
	case err == nil:
		r.Response = outcome.CleanResponse(strings.TrimSpace(strconv.Itoa(got.Code)+" "+got.Message), m.To)
	}
	if status >= 500 {
		r = w.delayUnclear(r)
	}
	return r
}

// delayUnclear delays the next attempt until a look-up can show whether the message arrived. It adds no delay if the
// attempt was interrupted or failed before anything was sent.
func (w *twilio) delayUnclear(r sending.Result) sending.Result {
	switch r.Class { //nolint:exhaustive // with any other class, the message may have arrived
	case sending.ClassDNS, sending.ClassRefused, sending.ClassTLS, sending.ClassInterrupted:
	default:
		r.RetryAfter = max(r.RetryAfter, w.listDelay)
	}
	return r
}

// lookUp looks for the message in the provider's list. If found is true, r is the result of the attempt that sent the
// message. If found is false and r.Class is set, the list could not be read.
func (w *twilio) lookUp(ctx context.Context, m *sending.Message) (found bool, r sending.Result) {
	now := w.config.Now().UTC()
	since := now.Add(-sameWithin)
	if from := m.Since.UTC().Add(-clocksDiffer); from.After(since) && !m.Since.After(now) { // after now: a clock was ahead
		since = from
	}
	// The provider can filter only by day.
	query := url.Values{"To": {m.To}, "DateSent>": {since.Format(time.DateOnly)}, "PageSize": {"100"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.messages()+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return false, sending.Result{Class: sending.ClassStatus, Final: true}
	}
	status, header, body, failure := w.exchange(ctx, w.signIn(request))
	if status == 0 {
		return false, w.delayUnclear(failure)
	}
	if r = w.judge(status, header); r.Class != sending.ClassOK {
		r.Final = false
		return false, w.delayUnclear(r)
	}
	var list struct{ Messages []twilioMessage }
	if err := json.Unmarshal(body, &list); err != nil {
		return false, sending.Result{Class: sending.ClassStatus, Status: status, RetryAfter: w.listDelay}
	}
	at := slices.IndexFunc(list.Messages, func(one twilioMessage) bool {
		created, err := time.Parse(time.RFC1123Z, one.Created)
		return one.Body == m.Text && (err != nil || created.After(since))
	})
	if at < 0 {
		return false, sending.Result{}
	}
	r.Response = list.Messages[at].SID
	if failedStatus(list.Messages[at].Status) {
		r.Class, r.Final = sending.ClassStatus, true
	}
	return true, r
}

func (w *twilio) messages() string {
	return strings.TrimSuffix(w.config.URL, "/") + "/2010-04-01/Accounts/" + url.PathEscape(w.config.Account) + "/Messages.json"
}

func (w *twilio) signIn(r *http.Request) *http.Request {
	r.SetBasicAuth(w.config.Account, w.config.Token)
	r.Header.Set("User-Agent", "svc-sms/1")
	return r
}

// Receipt implements [Gateway]. The signature covers the callback URL as the provider knows it, and the fields in
// order of their names.
func (w *twilio) Receipt(self *url.URL, header http.Header, body []byte) (Receipt, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return Receipt{}, ErrMalformed
	}
	signed := w.config.Callback + ReceiptPath(DriverTwilio) + "?" + self.RawQuery
	if !hmac.Equal([]byte(header.Get("X-Twilio-Signature")), []byte(twilioSignature(w.config.Token, signed, form))) {
		return Receipt{}, ErrForged
	}
	r := Receipt{Hospital: self.Query().Get("h"), DeliveryID: self.Query().Get("d")}
	if r.Hospital == "" || r.DeliveryID == "" {
		return Receipt{}, ErrMalformed
	}
	switch status := form.Get("MessageStatus"); {
	case status == "delivered":
		r.State = outbound.Delivered
	case failedStatus(status):
		r.State = outbound.Failed
	}
	return r, nil
}

func failedStatus(status string) bool {
	return status == "failed" || status == "undelivered" || status == "canceled"
}

// twilioSignature returns X-Twilio-Signature: the base64 of the HMAC-SHA1, under the auth token, of the URL followed by
// the form's names and values, in order of the names.
func twilioSignature(token, address string, form url.Values) string {
	mac := hmac.New(sha1.New, []byte(token))
	mac.Write([]byte(address))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			mac.Write([]byte(name + value))
		}
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
