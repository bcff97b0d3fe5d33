package view_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/redis/go-redis/v9"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/view"
	"svc/readapi"
	"svc/schemas"
)

// charts reads the view as the program does.
type charts struct{ *view.View }

func (c charts) Token(ctx context.Context, hospital string) (readapi.Token, error) {
	token, err := c.View.Token(ctx, hospital)
	return readapi.Token(token), err
}

func (c charts) Read(ctx context.Context, hospital string, since readapi.Token) (readapi.State, error) {
	s, err := c.ReadSince(ctx, hospital, view.Token(since))
	state := readapi.State{
		Token: readapi.Token(s.Token), Unit: s.Chart, Rooms: make([]readapi.Room, len(s.Rooms)),
		Partial: s.Partial, Gone: s.Gone,
	}
	for i, r := range s.Rooms {
		state.Rooms[i] = readapi.Room(r)
	}
	return state, err
}

func (charts) DecodeUnit(encoded string, u *acuity.UnitChart) error {
	return schemas.UnitChartCodec.DecodeInto([]byte(encoded), u)
}

func (charts) DecodeRoom(encoded string, r *acuity.RoomChart) error {
	return schemas.RoomChartCodec.DecodeInto([]byte(encoded), r)
}

// changing is a view in which the unit changes with every read. It serves two hospitals in Redis alternately, as if
// they were successive versions of one hospital. Each later read requests the changes since version 7, at which both
// hospitals had the same state.
type changing struct {
	charts
	hospitals [2]string
	version   *atomic.Int64
}

func (c changing) Token(ctx context.Context, _ string) (readapi.Token, error) {
	n := c.version.Add(1)
	token, err := c.charts.Token(ctx, c.hospitals[n%2])
	token.Version = n
	return token, err
}

func (c changing) Read(ctx context.Context, _ string, since readapi.Token) (readapi.State, error) {
	n := c.version.Add(1)
	if since.Version > 0 {
		since.Version = 7
	}
	s, err := c.charts.Read(ctx, c.hospitals[n%2], since)
	s.Version = n
	return s, err
}

// busy returns a unit at a version, with the given number of busy rooms, each with five factors.
func busy(b *testing.B, hospital string, version int64, now, arrived acuity.Instant, rooms int32) view.Unit {
	b.Helper()
	u := view.Unit{Hospital: hospital, Version: version, Rooms: map[int32][]byte{}}
	var err error
	u.Chart, err = schemas.UnitChartCodec.Encode(nil, &acuity.UnitChart{
		Version: version, Since: now, Clock: now, HasCensus: true, CensusAt: now, TotalRooms: 48,
		Staffing: []acuity.Staffing{{AsOf: now, Nurses: 24, Call: acuity.Yes}},
	})
	if err != nil {
		b.Fatal(err)
	}
	standard, _ := catalogue.FactorByID("labor-standard")
	signals := make([]acuity.Evidence, 0, 4)
	for _, id := range []string{"high-mag", "high-preeclampsia", "high-hemorrhage", "mews-active"} {
		if f, ok := catalogue.FactorByID(id); ok {
			signals = append(signals, acuity.Evidence{Factor: f, Kind: acuity.BySignal, Start: now, Last: now, Source: acuity.Source{Feed: acuity.ChannelClinical, System: codes.RxNorm, Code: "6585"}})
		}
	}
	for id := range rooms {
		u.Rooms[id], err = schemas.RoomChartCodec.Encode(nil, &acuity.RoomChart{
			ID: id, Label: fmt.Sprintf("LDR %d", id), Area: "LDR", Status: acuity.RoomOccupied, Listed: true,
			Patients: []acuity.PatientChart{{Visit: "0123456789abcdef0123456789abcdef", Mother: true, Arrived: arrived, Evidence: append([]acuity.Evidence{
				{Factor: standard, Kind: acuity.ByADT, Start: arrived, Last: arrived, Source: acuity.Source{Feed: acuity.ChannelADT}},
			}, signals...)}},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return u
}

// BenchmarkRead compares the read endpoints with a bare handler on the same router and Redis client. The handler checks
// the same key, reads the same bytes and writes the same response. The benchmark runs on the embedded Redis, or on the
// Redis at E2E_REDIS.
//
// In "one-changed", one room changes with every request; in "all-changed", every room does. "one" sends requests in
// sequence, "many" in parallel. Requests that read the same change share the work.
func BenchmarkRead(b *testing.B) {
	url := os.Getenv("E2E_REDIS")
	if url != "" && !strings.Contains(url, "://") {
		url = "redis://" + url // the whole-system tests set host:port
	}
	if url == "" {
		embedded, err := view.Embed()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(embedded.Close)
		url = embedded.URL()
	}
	log := slog.New(slog.DiscardHandler)
	bd, err := view.Open(view.Config{URL: url, Prefix: "bench:", Partition: func(string) int32 { return 0 }, Now: time.Now, Log: log})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { bd.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	projector := bd.Projector("5L6g3nShT-eMCtK--X86sw", func(int32) {})
	done := make(chan error)
	go func() { done <- projector.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-done
	})
	now := time.Now()
	at := acuity.At(now)
	units := []view.Unit{busy(b, "north", 7, at, at, 40)}
	changes := []view.Unit{busy(b, "one-a", 8, at, at-1, 1), busy(b, "one-b", 8, at, at-2, 1), busy(b, "all-a", 8, at, at-1, 40), busy(b, "all-b", 8, at, at-2, 40)}
	for _, u := range changes {
		units = append(units, busy(b, u.Hospital, 7, at, at, 40))
	}
	projector.Put(view.Projection{Whole: true, Position: 1, Units: units})
	projector.Put(view.Projection{Position: 2, Units: changes})
	if err = bd.Watermark().Wait(ctx, 0, 2); err != nil {
		b.Fatal(err)
	}
	register := access.NewRegister(time.Now)
	key, token := access.Mint(access.Key{Hospital: "north", Scopes: access.Scopes()}, now)
	register.SetKey(key)
	shell := &httpapi.Shell{Now: time.Now, Lookup: register.Lookup, Log: log}
	mounted := func(c readapi.Config) http.Handler {
		r := shell.Router()
		readapi.Mount(r, c)
		return r
	}
	warm := mounted(readapi.Config{Charts: charts{bd}, Shell: shell})
	changed := func(one, other string) http.Handler {
		return mounted(readapi.Config{Charts: changing{charts{bd}, [2]string{one, other}, new(atomic.Int64)}, Shell: shell})
	}

	options, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	options.PoolSize = 64
	client := redis.NewClient(options)
	b.Cleanup(func() { client.Close() })
	bare := func(path string, read func(context.Context) error) http.Handler {
		w := httptest.NewRecorder()
		warm.ServeHTTP(w, request(path, token))
		if w.Code != http.StatusOK {
			b.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		body := w.Body.Bytes()
		r := chi.NewRouter()
		r.Get(path, func(w http.ResponseWriter, r *http.Request) {
			key, ok := register.Lookup(r.Header.Get("Authorization")[len("Bearer "):])
			if !ok || !key.Allows(access.ReadUnitState) || read(r.Context()) != nil {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(http.StatusOK)
			w.Write(body) //nolint:errcheck // a recorder's writes do not fail
		})
		return r
	}
	some := func(ctx context.Context) error {
		return client.HMGet(ctx, "bench:{0}unit:north", "g", "v").Err()
	}
	all := func(ctx context.Context) error { return client.HGetAll(ctx, "bench:{0}unit:north").Err() }
	for _, c := range []struct {
		name, path string
		handler    http.Handler
	}{
		{"level/bare", "/api/v1/level", bare("/api/v1/level", some)},
		{"level/ours", "/api/v1/level", warm},
		{"unit-state/bare", "/api/v1/unit-state", bare("/api/v1/unit-state", all)},
		{"unit-state/ours", "/api/v1/unit-state", warm},
		{"unit-state/one-changed", "/api/v1/unit-state", changed("one-a", "one-b")},
		{"unit-state/all-changed", "/api/v1/unit-state", changed("all-a", "all-b")},
	} {
		ask := func(b *testing.B) {
			w := &discard{header: http.Header{}}
			c.handler.ServeHTTP(w, request(c.path, token))
			if w.status != http.StatusOK {
				b.Fatalf("status %d", w.status)
			}
		}
		b.Run(c.name+"/one", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(b)
			}
		})
		b.Run(c.name+"/many", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ask(b)
				}
			})
		})
	}
}

func request(path, token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return io.Discard.Write(b) }
