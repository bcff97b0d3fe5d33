package subscribers

import (
	"cmp"
	"context"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// Names of actions in the audit log.
const (
	actRecipientCreate = "alert-recipient.create"
	actRecipientChange = "alert-recipient.change"
	actRecipientDelete = "alert-recipient.delete"
	actAlertTest       = "alert.test"
)

// Limits for recipients.
const (
	maxEmail      = 254 // RFC 5321, 4.5.3.1.3
	recipientsMax = 200 // per hospital
)

// defaultLanguage is the language of messages to a recipient without a language.
const defaultLanguage = "en"

func recipientWrites() []contract.Route[*alerts] {
	id := idOf("recipient", "rcp_0123456789abcdef")
	return []contract.Route[*alerts]{
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/alerts/recipients", ID: "createRecipient", Summary: "Add a recipient of alerts",
			About: "A recipient is a role, never a person by name. Address and number are encrypted; lists show them masked.",
			Bodies: body(recipientShape{}, contract.Example{
				Name: "The house supervisor", Text: `{"label":"House supervisor","email":"supervisor@hospital.example","phone":"+15555550100","language":"es"}`,
			}),
			Data: savedRecipient{}, Tagged: true, Refuses: []problem.Kind{problem.Unprocessable},
			Limits: map[string]int64{"alertRecipients": recipientsMax},
		}, Serve: (*alerts).createRecipient},
		{Operation: contract.Operation{
			Method: http.MethodPatch, Path: "/api/admin/alerts/recipients/{id}", ID: "changeRecipient", Summary: "Change a recipient",
			About:      "Omitted fields are unchanged; null removes an address and resets the language." + unchangedAbout,
			Parameters: []contract.Parameter{id, ifMatch},
			Bodies:     body(recipientChangeShape{}, contract.Example{Name: "Another number", Text: `{"phone":"+15555550101"}`}),
			Data:       savedRecipient{}, Tagged: true, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
		}, Serve: (*alerts).changeRecipient},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/alerts/recipients/{id}", ID: "deleteRecipient", Summary: "Remove a recipient",
			About:      "A recipient that a tier names cannot be removed.",
			Parameters: []contract.Parameter{id, ifMatch},
			Data:       recipientRow{}, Refuses: []problem.Kind{problem.Missing, problem.Precondition, problem.Unprocessable},
		}, Serve: (*alerts).deleteRecipient},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/alerts/test", ID: "testAlert",
			Summary: "Send a test message to a recipient through one channel",
			Bodies:  body(alertTestShape{}, contract.Example{Name: "By SMS", Text: `{"recipientId":"rcp_0123456789abcdef","channel":"sms"}`}),
			Data:    commanded{}, Refuses: []problem.Kind{problem.Missing, problem.Unprocessable},
		}, Serve: (*alerts).testAlert},
	}
}

func recipientReads() []contract.Route[*alerts] {
	return []contract.Route[*alerts]{{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/admin/alerts/recipients", ID: "listRecipients",
		Summary: "List the recipients of alerts, oldest first", Data: recipientList{},
	}, Serve: (*alerts).listRecipients}}
}

type recipientShape struct {
	Label string `json:"label" pattern:"label" maxLength:"60" doc:"The role."`
	recipientAddresses
	recipientLanguage
}

type recipientChangeShape struct {
	Label *string `json:"label,omitempty" pattern:"label" maxLength:"60"`
	recipientAddresses
	recipientLanguage
}

type recipientLanguage struct {
	Language *string `json:"language,omitempty" enum:"en,es" doc:"Language of e-mails and SMS. Default en; null resets it."`
}

// recipientAddresses are the addresses of a recipient. At least one is required.
type recipientAddresses struct {
	Email     *string `json:"email,omitempty" pattern:"email" maxLength:"254" doc:"Only the address, without a display name."`
	Phone     *string `json:"phone,omitempty" pattern:"phone" doc:"E.164: + and up to 15 digits."`
	WebhookID *string `json:"webhookId,omitempty" maxLength:"64" doc:"Endpoint that receives surge.alert for this role."`
}

type alertTestShape struct {
	RecipientID string `json:"recipientId" minLength:"1" maxLength:"64"`
	Channel     string `json:"channel" enum:"email,sms,webhook"`
}

type recipientRow struct {
	ID        string       `json:"id"`
	Label     string       `json:"label"`
	Email     *string      `json:"email"` // masked
	Phone     *string      `json:"phone"` // masked
	WebhookID *string      `json:"webhookId"`
	Language  string       `json:"language"`
	Version   int64        `json:"version"` // also the entity tag
	CreatedAt httpapi.Time `json:"createdAt"`
}

type savedRecipient struct {
	recipientRow
	Warnings []httpapi.Warning `json:"warnings"`
}

type recipientList struct {
	Recipients []recipientRow `json:"recipients"`
}

func recipientOf(p *subscriber.Recipient) recipientRow {
	return recipientRow{
		ID: p.ID, Label: p.Label, Email: some(p.EmailShown), Phone: some(p.PhoneShown), WebhookID: some(p.WebhookID),
		Language: cmp.Or(p.Language, defaultLanguage), Version: p.Version, CreatedAt: httpapi.Time(p.CreatedAt),
	}
}

func (s *alerts) listRecipients(w http.ResponseWriter, r *http.Request) {
	all := slices.Clone(s.Register.Recipients(hospitalOf(r)))
	slices.SortStableFunc(all, func(a, b *subscriber.Recipient) int { return a.CreatedAt.Compare(b.CreatedAt) })
	list := recipientList{Recipients: make([]recipientRow, len(all))}
	for i, p := range all {
		list.Recipients[i] = recipientOf(p)
	}
	httpapi.OK(w, r, list)
}

// findRecipient returns the recipient in the path. If it returns false, it has sent an error response.
func (s *alerts) findRecipient(w http.ResponseWriter, r *http.Request) (*subscriber.Recipient, bool) {
	p, ok := s.Register.Recipient(hospitalOf(r), pathID(r))
	if !ok {
		missing(w, r)
	}
	return p, ok
}

func (s *alerts) createRecipient(w http.ResponseWriter, r *http.Request) {
	p := subscriber.Recipient{Hospital: hospitalOf(r), Language: defaultLanguage, Version: 1, CreatedAt: cut(s.Shell.Now())}
	in := recipientShape{
		recipientAddresses: recipientAddresses{&p.Email, &p.Phone, &p.WebhookID}, recipientLanguage: recipientLanguage{&p.Language},
	}
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	p.Label = in.Label
	seen, end := s.begin()
	defer end()
	f := faultsOf(&in)
	s.checkAddresses(&f, &p)
	if f.answered(w, r) {
		return
	}
	if len(s.Register.Recipients(p.Hospital)) >= recipientsMax {
		unprocessable(w, r, "The hospital has reached the limit of 200 recipients; remove one first.",
			"", "maxItems:"+strconv.Itoa(recipientsMax))
		return
	}
	p.ID = "rcp_" + access.RandomHex(8)
	s.saveRecipient(w, r, seen, actRecipientCreate, 0, &p, warnings)
}

func (s *alerts) changeRecipient(w http.ResponseWriter, r *http.Request) {
	old, known := s.Register.Recipient(hospitalOf(r), pathID(r))
	if !known { // a malformed body is reported even if the recipient is unknown
		old = &subscriber.Recipient{Label: "-", EmailShown: "-"}
	}
	p := *old
	p.Language = cmp.Or(p.Language, defaultLanguage)
	before := p
	in := recipientChangeShape{
		Label: &p.Label, recipientAddresses: recipientAddresses{&p.Email, &p.Phone, &p.WebhookID},
		recipientLanguage: recipientLanguage{&p.Language},
	}
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in) // changes only the fields that the body contains
	if !ok {
		return
	}
	if in.Email == nil || p.Email == "" && old.Email != "" {
		p.Email, p.EmailShown = "", ""
	}
	if in.Phone == nil || p.Phone == "" && old.Phone != "" {
		p.Phone, p.PhoneShown = "", ""
	}
	if in.WebhookID == nil {
		p.WebhookID = ""
	}
	if in.Language == nil {
		p.Language = defaultLanguage
	}
	seen, end := s.begin() // lock only after reading the body, because a slow sender must not block other changes
	defer end()
	f := faultsOf(&in)
	s.checkAddresses(&f, &p)
	switch now, _ := s.Register.Recipient(p.Hospital, p.ID); {
	case f.answered(w, r):
	case !known:
		missing(w, r)
	case now == nil || now.Version != old.Version:
		httpapi.Fail(w, r, overtaken)
	case !requireMatch(w, r, old.Version):
	case p == before:
		answer(w, r, old.Version, savedRecipient{recipientOf(old), append(warnings, unchanged)})
	default:
		p.Version++
		s.saveRecipient(w, r, seen, actRecipientChange, old.Version, &p, warnings)
	}
}

func (s *alerts) saveRecipient(
	w http.ResponseWriter, r *http.Request, seen int64, action string, before int64, p *subscriber.Recipient, warnings []httpapi.Warning,
) {
	put := func(ctx context.Context) error { return s.Store.PutRecipient(ctx, seen, p) }
	if s.perform(w, r, action, p.ID, before, p.Version, put) {
		answer(w, r, p.Version, savedRecipient{recipientOf(p), warnings})
	}
}

// e164 matches an international number (ITU-T E.164). A country code does not begin with 0, and a number has at most 15
// digits.
var e164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// checkAddresses checks the addresses of a recipient, and sets their masked forms.
func (s *alerts) checkAddresses(f *faults, p *subscriber.Recipient) {
	p.Label = strings.TrimSpace(p.Label)
	if p.Email != "" {
		parsed, err := mail.ParseAddress(p.Email)
		// Only a bare address is valid, because a display name could be a person's name. A masked address is refused;
		// otherwise, a client that sends back a list entry would overwrite the address with its masked form.
		bare := err == nil && parsed.Address == p.Email && !strings.Contains(p.Email, masked)
		f.unless(bare && len(p.Email) <= maxEmail && !access.HasControls(p.Email), "email", "format:email")
		p.EmailShown = maskEmail(p.Email)
	}
	if p.Phone != "" {
		f.unless(e164.MatchString(p.Phone), "phone", "format:e164")
		p.PhoneShown = maskPhone(p.Phone)
	}
	if p.WebhookID != "" {
		_, known := s.Register.Webhook(p.Hospital, p.WebhookID)
		f.fits(known, "webhookId", "webhook")
	}
	f.fits(p.EmailShown != "" || p.PhoneShown != "" || p.WebhookID != "", "email", "one_of:email|phone|webhookId")
}

// masked replaces the hidden part of an address or number.
const masked = "***"

// maskEmail masks an address, but leaves enough to distinguish it from others.
func maskEmail(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	top := domain[strings.LastIndexByte(domain, '.')+1:]
	if top == domain {
		top = ""
	} else {
		top = "." + top
	}
	return first(local) + masked + "@" + first(domain) + masked + top
}

// maskPhone shows the last two digits of a number.
func maskPhone(number string) string {
	if len(number) < 8 {
		return masked
	}
	return masked + number[len(number)-2:]
}

func first(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return text[:size]
}

func (s *alerts) deleteRecipient(w http.ResponseWriter, r *http.Request) {
	seen, end := s.begin()
	defer end()
	old, ok := s.findRecipient(w, r)
	if !ok || !requireMatch(w, r, old.Version) {
		return
	}
	for _, t := range s.Register.Tiers(old.Hospital) {
		if slices.Contains(t.Recipients, old.ID) || slices.Contains(t.EscalateTo, old.ID) {
			unprocessable(w, r, "A tier names this recipient; change the tier first.", t.ID, "in_use")
			return
		}
	}
	drop := func(ctx context.Context) error { return s.Store.DropRecipient(ctx, seen, old.Hospital, old.ID) }
	if s.perform(w, r, actRecipientDelete, old.ID, old.Version, 0, drop) {
		httpapi.OK(w, r, recipientOf(old))
	}
}

func (s *alerts) testAlert(w http.ResponseWriter, r *http.Request) {
	var in alertTestShape
	warnings, ok := httpapi.ReadJSON(w, r, maxBody, &in)
	if !ok {
		return
	}
	if f := faultsOf(&in); f.answered(w, r) {
		return
	}
	p, known := s.Register.Recipient(hospitalOf(r), in.RecipientID)
	if !known {
		missing(w, r)
		return
	}
	c := s.newCommand(r, outbound.VerbTest)
	c.Endpoint, c.Channel = p.ID, subscriber.Channel(in.Channel)
	reached := map[subscriber.Channel]string{
		subscriber.ChannelMail: p.EmailShown, subscriber.ChannelSMS: p.PhoneShown, subscriber.ChannelWebhook: p.WebhookID,
	}[c.Channel]
	if reached == "" {
		unprocessable(w, r, "The recipient has no address for this channel; add one first.", "channel", "no_address")
		return
	}
	if c.Channel == subscriber.ChannelWebhook {
		c.Endpoint, c.Event = p.WebhookID, outbound.Alert
	}
	if s.order(w, r, actAlertTest, p.ID, c) {
		httpapi.OK(w, r, commanded{c.ID, some(s.Test(c)), warnings})
	}
}
