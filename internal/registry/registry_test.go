package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"

	"svc/internal/registry"
)

const (
	first  = `{"type":"record","name":"Fact","namespace":"svc","fields":[{"name":"a","type":"int"}]}`
	second = `{"type":"record","name":"Fact","namespace":"svc","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":0}]}`
	other  = `{"type":"record","name":"Act","namespace":"svc","fields":[]}`
)

var subjects = []registry.Subject{
	{Name: "facts-svc.Fact", Versions: []registry.Version{{Number: 1, ID: 101, Schema: first}, {Number: 2, ID: 102, Schema: second}}},
	{Name: "acts-svc.Act", Versions: []registry.Version{{Number: 1, ID: 201, Schema: other}}},
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func serve(t *testing.T) string {
	t.Helper()
	r := chi.NewRouter()
	registry.Mount(r, "/registry", subjects)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return server.URL + "/registry"
}

// TestServe sends the requests that deserializers send, and requests that must be refused.
func TestServe(t *testing.T) {
	url := serve(t)
	quoted := func(s string) string { return string(asJSON(t, s)) }
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/", "", 200, `{}`},
		{"GET", "/subjects", "", 200, `["facts-svc.Fact","acts-svc.Act"]`},
		{"GET", "/subjects/facts-svc.Fact/versions", "", 200, `[1,2]`},
		{"GET", "/subjects/facts-svc.Fact/versions/1", "", 200, `{"subject":"facts-svc.Fact","id":101,"version":1,"schema":` + quoted(first) + `}`},
		{"GET", "/subjects/facts-svc.Fact/versions/latest", "", 200, `{"subject":"facts-svc.Fact","id":102,"version":2,"schema":` + quoted(second) + `}`},
		{"GET", "/subjects/facts-svc.Fact/versions/2/schema", "", 200, second},
		{"POST", "/subjects/facts-svc.Fact", `{"schema":` + quoted(strings.ReplaceAll(first, ",", ", ")) + `}`, 200, `{"subject":"facts-svc.Fact","id":101,"version":1,"schema":` + quoted(first) + `}`},
		{"GET", "/schemas/ids/102", "", 200, `{"schema":` + quoted(second) + `}`},
		{"GET", "/schemas/ids/102?subject=facts-svc.Fact", "", 200, `{"schema":` + quoted(second) + `}`},
		{"GET", "/schemas/ids/201/schema", "", 200, other},
		{"GET", "/apis/registry/v2/ids/globalIds/102?dereference=false", "", 200, second},
		{"GET", "/apis/registry/v3/ids/contentIds/101", "", 200, first},
		{"GET", "/apis/registry/v2/ids/globalIds/101/references", "", 200, `[]`},
		{"GET", "/apis/registry/v3/ids/contentIds/7", "", 404, `{"error_code":40403,"message":"Schema not found."}`},
		{"GET", "/apis/registry/v2/ids/globalIds/7/references", "", 404, `{"error_code":40403,"message":"Schema not found."}`},
		{"GET", "/schemas/ids/101/subjects", "", 200, `["facts-svc.Fact"]`},
		{"GET", "/schemas/ids/102/versions", "", 200, `[{"subject":"facts-svc.Fact","version":2}]`},
		{"GET", "/schemas/types", "", 200, `["AVRO"]`},
		{"GET", "/config", "", 200, `{"compatibilityLevel":"BACKWARD"}`},
		{"GET", "/mode", "", 200, `{"mode":"READONLY"}`},
		{"GET", "/subjects/none/versions", "", 404, `{"error_code":40401,"message":"Subject not found."}`},
		{"GET", "/subjects/none/versions/1", "", 404, `{"error_code":40401,"message":"Subject not found."}`},
		{"GET", "/subjects/facts-svc.Fact/versions/3", "", 404, `{"error_code":40402,"message":"Version not found."}`},
		{"GET", "/subjects/facts-svc.Fact/versions/first", "", 422, `{"error_code":42202,"message":"The specified version is not a valid version id."}`},
		{"GET", "/schemas/ids/7", "", 404, `{"error_code":40403,"message":"Schema not found."}`},
		{"GET", "/schemas/ids/x", "", 404, `{"error_code":40403,"message":"Schema not found."}`},
		{"GET", "/schemas/ids/7/versions", "", 404, `{"error_code":40403,"message":"Schema not found."}`},
		{"POST", "/subjects/facts-svc.Fact", `{"schema":` + quoted(other) + `}`, 404, `{"error_code":40403,"message":"Schema not found."}`},
		{"POST", "/subjects/facts-svc.Fact", `no JSON`, 404, `{"error_code":40403,"message":"Schema not found."}`},
		{"GET", "/nothing", "", 404, `{"error_code":404,"message":"HTTP 404 Not Found"}`},
		{"POST", "/subjects/facts-svc.Fact/versions", `{"schema":"{}"}`, 422, `{"error_code":42205,"message":"This registry is read-only: its schemas are those of this svc build."}`},
		{"DELETE", "/subjects/facts-svc.Fact/versions/1", "", 422, `{"error_code":42205,"message":"This registry is read-only: its schemas are those of this svc build."}`},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), tt.method, url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != tt.status || string(body) != tt.want || answer.Header.Get("Content-Type") != "application/vnd.schemaregistry.v1+json" {
				t.Errorf("%d %s\n%s, want %d\n%s", answer.StatusCode, answer.Header.Get("Content-Type"), body, tt.status, tt.want)
			}
		})
	}
}

// TestRegisterFindsWhatIsThere: if the registry already has a schema, registering the schema again does not require
// write permission.
func TestRegisterFindsWhatIsThere(t *testing.T) {
	client, err := registry.NewClient(registry.Config{URL: serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := client.Register(t.Context(), subjects)
	if err != nil || !maps.Equal(ids, map[int]int{101: 101, 102: 102, 201: 201}) {
		t.Errorf("ids %v, %v", ids, err)
	}
	var refused *registry.RefusedError
	strange := []registry.Subject{{Name: "facts-svc.Fact", Versions: []registry.Version{{Number: 1, ID: 1, Schema: other}}}}
	if _, err = client.Register(t.Context(), strange); !errors.As(err, &refused) || refused.Subject != "facts-svc.Fact" {
		t.Errorf("a registry that takes no schema: %v", err)
	}
}

// keeping is a fake registry that accepts schemas and assigns ids from 1. It can be made unavailable for a number of
// requests.
type keeping struct {
	t        *testing.T
	mu       sync.Mutex
	away     int // number of further requests to answer with 503
	ids      map[string]int
	levels   map[string]string
	requests []string
}

func (k *keeping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	user, password, _ := r.BasicAuth()
	var body struct{ Schema, Compatibility string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		k.t.Error(err)
	}
	answer := func(v any) {
		if _, err := w.Write(asJSON(k.t, v)); err != nil {
			k.t.Error(err)
		}
	}
	subject := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/subjects/"), "/config/"), "/versions")
	name := subject + body.Schema
	id, known := k.ids[name]
	k.requests = append(k.requests, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	switch {
	case k.away > 0:
		k.away--
		w.WriteHeader(http.StatusServiceUnavailable)
	case user != "svc" || password != "secret":
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(r.URL.Path, "/config/"):
		k.levels[subject] = body.Compatibility
		answer(map[string]string{"compatibility": body.Compatibility})
	case strings.HasSuffix(r.URL.Path, "/versions") && r.Method == http.MethodPost:
		if !known {
			id = len(k.ids) + 1
			k.ids[name] = id
		}
		answer(map[string]int{"id": id})
	case known:
		answer(map[string]any{"subject": subject, "id": id, "version": 1, "schema": body.Schema})
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]any{"error_code": 40401, "message": "Subject not found."})
	}
}

// TestRegister registers the same schemas twice, first in an empty registry. The second registration must not write.
func TestRegister(t *testing.T) {
	k := &keeping{t: t, ids: map[string]int{}, levels: map[string]string{}}
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	client, err := registry.NewClient(registry.Config{URL: server.URL, User: "svc", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]int{101: 1, 102: 2, 201: 3}
	for range 2 {
		k.requests = nil
		if ids, fault := client.Register(t.Context(), subjects); fault != nil || !maps.Equal(ids, want) {
			t.Fatalf("ids %v, %v, want %v", ids, fault, want)
		}
	}
	for _, request := range k.requests {
		if strings.HasSuffix(request, "/versions") || strings.HasPrefix(request, "PUT") {
			t.Errorf("asked again by %s", request)
		}
	}
	if !maps.Equal(k.levels, map[string]string{"facts-svc.Fact": "BACKWARD", "acts-svc.Act": "BACKWARD"}) {
		t.Errorf("compatibility %v", k.levels)
	}
	stranger, err := registry.NewClient(registry.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var refused *registry.RefusedError
	if _, err = stranger.Register(t.Context(), subjects); !errors.As(err, &refused) {
		t.Errorf("without a login: %v", err)
	}
	k.away = 1 << 20
	if _, err = client.Register(context.Background(), subjects); err == nil || errors.As(err, &refused) {
		t.Errorf("a registry that is away: %v", err)
	}
}
