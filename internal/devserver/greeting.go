package devserver

import (
	"context"
	"fmt"
	"math"
	"time"

	"svc/internal/cli"
	"svc/internal/httpapi/access"
)

// The hospital that svc dev creates in an empty folder.
const (
	hospitalID   = "demo"
	hospitalName = "Demo Maternity"
	hospitalZone = "America/Chicago"
)

// Roles contains what [Server.Greet] needs from the roles in the process.
type Roles struct {
	Ready       []<-chan struct{}           // channels that are closed when the settings have been read; the ports may then open
	Readable    func(context.Context) error // waits until the read API can respond; after an error, it may be called again
	Register    *access.Register
	PutHospital func(ctx context.Context, seen int64, h *access.Hospital) error
	PutKeys     func(ctx context.Context, seen int64, keys ...*access.Key) error
	// MakeLink creates a link to the pages for a charge nurse and returns its path.
	MakeLink func(ctx context.Context, hospital, label string) (path string, err error)
	// RestoreFeeds restores the message counts of the feeds from before this process started. key is the id of the
	// key that sends the demo's requests.
	RestoreFeeds func(ctx context.Context, key string) error
	// SetMLLPKey makes the MLLP port use the API key with the given id.
	SetMLLPKey func(id string)
}

// readableAgain is the pause before a read is retried.
const readableAgain = 100 * time.Millisecond

// awaitReadable waits until reads succeed or ctx ends. On a busy machine, Redis may not respond at first.
func (s *Server) awaitReadable(ctx context.Context, r *Roles) error {
	for {
		err := r.Readable(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.log.WarnContext(ctx, "view not readable yet", "error", err)
		if err := cli.Pause(ctx, readableAgain); err != nil {
			return err
		}
	}
}

// Greet waits until the settings are loaded and the read API responds. It creates the hospital and the keys if they are
// missing, and writes dev.json. It then prints all addresses with example commands, closes s.Greeted, and returns
// when ctx ends.
func (s *Server) Greet(ctx context.Context, r *Roles) error {
	for _, ready := range r.Ready {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	if err := s.awaitReadable(ctx, r); err != nil {
		return err
	}
	d, err := s.makeKeys(ctx, r)
	if err != nil {
		return err
	}
	d.BaseURL, d.Kafka, d.Redis, d.MLLP = s.URL(), s.Kafka.Addr(), s.RedisURL, s.HL7.Addr().String()
	key, _ := r.Register.Lookup(d.APIKey)
	r.SetMLLPKey(key.ID)
	if err = r.RestoreFeeds(ctx, key.ID); err != nil {
		s.log.WarnContext(ctx, "earlier feed data not counted", "error", err)
	}
	data := s.options.data
	if err = writeDevFile(data, d); err != nil {
		return fmt.Errorf("write %s: %w", cli.DevFilePath(data), cli.WithoutPath(err))
	}
	link, err := r.MakeLink(ctx, d.HospitalID, "svc dev")
	if err != nil {
		return fmt.Errorf("create a link: %w", err)
	}
	kept := "kept in " + data
	if s.options.ephemeral {
		kept = "not stored (--ephemeral)"
	}
	_, err = fmt.Fprintf(s.env.Stdout, greeting, d.BaseURL, d.MLLP, d.BaseURL, d.BaseURL, s.Metrics.Addr(), d.Kafka, d.Redis, kept,
		d.HospitalID, d.APIKey, d.AdminKey, cli.DevFilePath(data), d.BaseURL+link, d.BaseURL, d.APIKey)
	if err != nil {
		return err
	}
	close(s.greeted)
	<-ctx.Done()
	return nil
}

const greeting = `svc is ready: maternity acuity and staffing, everything in this process.

  API       %s
  HL7 MLLP  %s    for interface engines and svc send; uses the API key
  Webhooks  %s/dev/hook    a test receiver that verifies signatures
  Alerts    %s/dev/outbox    e-mail and SMS that would be sent
  Metrics   http://%s/metrics
  Kafka     %s    embedded, one broker, no replication: for development only
  Redis     %s    embedded
  Data      %s
  Hospital  %s
  API key   %s
  Admin key %s
  Stored in %s

Open the unit in a browser. The link works once; svc admin link creates another:

  %s

Try it in another terminal:

  export SVC=%s KEY=%s

  curl -s $SVC/api/ingest/staffing -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d '{"nursesOnDuty": 6, "callStaffAvailable": true}'

  curl -s $SVC/api/ingest/clinical -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d '{"roomId": 4, "roomLabel": "LDR 4", "signals": [` +
	`{"kind": "medication", "system": "RxNorm", "code": "6585", "display": "magnesium sulfate", "status": "active"}]}'

  curl -s $SVC/api/v1/level -H "Authorization: Bearer $KEY"
  curl -s $SVC/api/v1/unit-state -H "Authorization: Bearer $KEY"

Ctrl-C stops it.
`

// makeKeys returns the content of dev.json. It creates the hospital if it does not exist. It keeps the keys of an
// existing dev.json that are still valid, and creates the others.
func (s *Server) makeKeys(ctx context.Context, r *Roles) (*cli.DevFile, error) {
	if _, known := r.Register.Hospital(hospitalID); !known {
		made := s.env.Now().UTC().Truncate(time.Millisecond)
		hospital := access.Hospital{ID: hospitalID, Name: hospitalName, Zone: hospitalZone, CreatedAt: made}
		if err := r.PutHospital(ctx, math.MaxInt64, &hospital); err != nil {
			return nil, fmt.Errorf("create the hospital: %w", err)
		}
	}
	d := &cli.DevFile{HospitalID: hospitalID}
	if before, err := cli.ReadDevFile(s.options.data); err == nil {
		d.APIKey, d.AdminKey = before.APIKey, before.AdminKey
	}
	var made []*access.Key
	for _, k := range []struct {
		token  *string
		name   string
		scopes []access.Scope
	}{
		{&d.APIKey, "svc dev, every scope", access.Scopes()},
		{&d.AdminKey, "svc dev, administrator", []access.Scope{access.Admin}},
	} {
		if _, valid := r.Register.Lookup(*k.token); valid {
			continue
		}
		key, token := access.Mint(access.Key{Hospital: hospitalID, Name: k.name, Scopes: k.scopes}, s.env.Now())
		made = append(made, &key)
		*k.token = token
	}
	if len(made) > 0 {
		if err := r.PutKeys(ctx, math.MaxInt64, made...); err != nil {
			return nil, fmt.Errorf("create keys: %w", err)
		}
	}
	return d, nil
}
