// Package subscribers administers who is told of what a unit does: webhooks of
// partners, the tiers of alerts and the roles on duty that they call; and lists
// what was delivered to them.
//
// Settings are kept by a [Store]; each act is on record before it takes effect,
// and answered once this process honors it. Of a secret, a telephone number and an
// address nothing leaves here but, once, the secret that was just made: lists
// mask, audit and errors name ids and places.
//
// What is asked of the notifier (a test, a retry, a replay, an acknowledgment) is
// a command in its ledger; how far it is, and what was delivered, is read from a
// [Lists] that the notifier writes.
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
	"svc/internal/outbound"
)

// Store is where the settings are kept. A write is not done if a setting of the
// hospital was changed after what the [Register] had shown when Seen was asked: it
// returns [access.ErrOvertaken]. When it returns nil this process honors it: the
// Register shows it.
type Store interface {
	Seen() int64
	PutWebhook(ctx context.Context, seen int64, w *outbound.Webhook) error
	DropWebhook(ctx context.Context, seen int64, hospital, id string) error
	PutRecipient(ctx context.Context, seen int64, p *outbound.Recipient) error
	DropRecipient(ctx context.Context, seen int64, hospital, id string) error
	PutTier(ctx context.Context, seen int64, t *outbound.Tier) error
}

// ErrNoKey says that the process has no key to seal with, or not the one with
// which the setting was sealed: writing it would lose what it holds.
var ErrNoKey = errors.New("no key to seal with")

// Lists is what the notifier tells of its work. An unknown id has ok false; an
// error says that it cannot be known at the moment. What is returned beside an error
// was true once: it is not shown, but enough to act on.
type Lists interface {
	Deliveries(ctx context.Context, q outbound.Query) (outbound.Page, error)
	Delivery(ctx context.Context, hospital, id string) (d outbound.Delivery, ok bool, err error)
	Health(ctx context.Context, hospital, endpoint string) (h outbound.Health, ok bool, err error)
	Progresses
	Episodes(ctx context.Context, hospital string) ([]outbound.AlertRun, error)
}

// Progresses tells how far commands are.
type Progresses interface {
	Progress(ctx context.Context, hospital, command string) (p outbound.Progress, ok bool, err error)
}

// ErrCursor says that a cursor is none of ours.
var ErrCursor = errors.New("not a cursor")

// Config is what the endpoints need; of MountReads: Shell, Register, Lists, Key, Reason.
type Config struct {
	Shell    *httpapi.Shell
	Register *Register
	Lists    Lists
	// Reason is the stable code of an error of Lists.
	Reason func(error) string
	// Key returns a key by its id, also one that is no longer valid.
	Key func(id string) (access.Key, bool)

	Store Store
	Audit audit.Record
	// Order makes a command durable in the ledger of the notifier.
	Order func(ctx context.Context, c *outbound.Command) error
	// Test names the delivery that a test makes; "" if that is not known beforehand.
	Test func(c *outbound.Command) string
	// Check judges the URL of an endpoint: why it is refused, or what to warn of;
	// both are stable codes, "" is nothing.
	Check func(ctx context.Context, hospital, url string) (refused, warning string)
	Zone  func(hospital string) *time.Location // for times without an offset
}

// MountWrites adds the endpoints that change and command.
func MountWrites(r chi.Router, c Config) { httpapi.Mount(r, c.Shell, &server{Config: c}, writes()) }

// MountReads adds the endpoints that show.
func MountReads(r chi.Router, c Config) { httpapi.Mount(r, c.Shell, &server{Config: c}, reads()) }

// Operations are what administrators, and partners with their own endpoints, do.
func Operations() []httpapi.Operation {
	return append(httpapi.Operations(writes()), httpapi.Operations(reads())...)
}

type server struct {
	Config
	// writing keeps the acts of this process apart, so that one waits for the other
	// instead of being overtaken.
	writing sync.Mutex
}

// begin begins an act on settings, which are to be looked up only now. Its writes
// compare with what was seen, whichever process writes.
func (s *server) begin() (seen int64, end func()) {
	s.writing.Lock()
	return s.Store.Seen(), s.writing.Unlock
}

func writes() []httpapi.Route[*server] {
	return slices.Concat(webhookWrites(), rotation(), commands(), tierWrites(), recipientWrites(), episodeWrites())
}

func reads() []httpapi.Route[*server] {
	return slices.Concat(webhookReads(), deliveryReads(), tierReads(), recipientReads(), episodeReads())
}
