// Package subscribers administers the subscribers to a unit's events: partners' webhooks, plus the roles on duty that
// each alert tier notifies. It also lists the deliveries.
//
// A [Store] holds the settings. The audit record of an action is written before the action takes effect, and the
// response is sent once this process uses the new settings. Secrets, telephone numbers and addresses never leave this
// package, except that a new secret is shown once. Lists mask addresses and numbers; audit records and errors contain
// only ids and paths.
//
// A test, a retry, a replay or an acknowledgment is a command in the notifier's ledger. The notifier writes the
// progress of commands and the deliveries to the [Lists].
package subscribers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/outbound"
	"svc/internal/outbound/subscriber"
)

// Store stores the settings. A write returns [access.ErrOvertaken] if another write changed the settings of the
// hospital after Seen was called, because the caller's decision would then be based on an outdated [Register]. When a
// write returns nil, this process's Register contains the change.
type Store interface {
	Seen() int64
	PutWebhook(ctx context.Context, seen int64, w *subscriber.Webhook) error
	DropWebhook(ctx context.Context, seen int64, hospital, id string) error
	PutRecipient(ctx context.Context, seen int64, p *subscriber.Recipient) error
	DropRecipient(ctx context.Context, seen int64, hospital, id string) error
	PutTier(ctx context.Context, seen int64, t *subscriber.Tier) error
}

// ErrNoKey means that the process cannot seal a setting, because it has no secrets key or lacks the key with which
// the setting was sealed. Writing the setting would lose its secret part.
var ErrNoKey = errors.New("no secrets key is configured")

// Lists provides the notifier's reports about its work. ok is false for an unknown id. An error means that the report
// cannot be read, or that the returned value may be outdated. An outdated value must not be displayed, but can be
// used for commands.
type Lists interface {
	Deliveries(ctx context.Context, q Query) (Page, error)
	Delivery(ctx context.Context, hospital, id string) (d outbound.Delivery, ok bool, err error)
	Health(ctx context.Context, hospital, endpoint string) (h outbound.Health, ok bool, err error)
	Progresses
	Episodes(ctx context.Context, hospital string) ([]outbound.AlertRun, error)
}

// Progresses reports the progress of commands.
type Progresses interface {
	Progress(ctx context.Context, hospital, command string) (p outbound.Progress, ok bool, err error)
}

// ErrCursor means that a cursor is malformed.
var ErrCursor = errors.New("not a cursor")

// Config lists the dependencies of the endpoints. MountReads needs only Shell, Register, Lists, Reason, Key and Zone.
type Config struct {
	Shell    *httpapi.Shell
	Register *Register
	Lists    Lists
	// Reason returns the stable code for an error from Lists.
	Reason func(error) string
	// Key returns a key by its id, even if the key is no longer valid.
	Key func(id string) (access.Key, bool)

	Store Store
	Audit audit.Record
	// Order writes a command to the notifier's ledger, and returns once it is durable.
	Order func(ctx context.Context, c *outbound.Command) error
	// Test returns the id of the delivery that a test creates, or "" if the id is not known in advance.
	Test func(c *outbound.Command) string
	// Check checks the URL of an endpoint. refused is a stable code for why the URL is refused, and warning is a
	// stable code for a warning; each is "" if there is none.
	Check func(ctx context.Context, hospital, url string) (refused, warning string)
	Zone  func(hospital string) *time.Location // zone for times without an offset
}

// MountWrites adds the endpoints that change settings and issue commands.
func MountWrites(r chi.Router, c Config) {
	s := &server{Config: c}
	contract.Mount(r, c.Shell, &webhooks{s}, webhookWrites())
	contract.Mount(r, c.Shell, &alerts{s}, alertWrites())
}

// MountReads adds the endpoints that only read.
func MountReads(r chi.Router, c Config) {
	s := &server{Config: c}
	contract.Mount(r, c.Shell, &webhooks{s}, webhookReads())
	contract.Mount(r, c.Shell, &alerts{s}, alertReads())
}

// Operations returns the API operations for administrators, and those for partners on their own endpoints.
func Operations() []contract.Operation {
	return slices.Concat(
		contract.Operations(webhookWrites()), contract.Operations(alertWrites()),
		contract.Operations(webhookReads()), contract.Operations(alertReads()),
	)
}

// webhooks serves the routes for the endpoints of partners and the deliveries to them.
type webhooks struct{ *server }

func webhookWrites() []contract.Route[*webhooks] {
	return grouped("Webhooks", endpointWrites(), rotation(), commands())
}

func webhookReads() []contract.Route[*webhooks] {
	return grouped("Webhooks", endpointReads(), deliveryReads())
}

// alerts serves the routes for tiers, recipients and alert episodes.
type alerts struct{ *server }

func alertWrites() []contract.Route[*alerts] {
	return grouped("Alerts", tierWrites(), recipientWrites(), episodeWrites())
}

func alertReads() []contract.Route[*alerts] {
	return grouped("Alerts", tierReads(), recipientReads(), episodeReads())
}

// server contains the common parts of webhooks and alerts.
type server struct {
	Config
	// writing serializes the actions in this process, so that they wait for each other instead of failing with
	// ErrOvertaken.
	writing sync.Mutex
}

// begin starts an action on settings. The caller must read the settings after begin, and must call end when the
// action is complete. Writes fail if any process has changed the settings since begin.
func (s *server) begin() (seen int64, end func()) {
	s.writing.Lock()
	return s.Store.Seen(), s.writing.Unlock
}
