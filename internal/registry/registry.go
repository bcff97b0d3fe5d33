// Package registry serves the schemas of the topics by id.
//
// A schema registry stores versions of schemas by subject, and assigns an id to each version. Every encoded value
// begins with the id of its schema version. The ids of this release are constants, so the registry that svc serves is
// read-only and needs no storage. If a health system runs a schema registry, [Use] registers the schemas there, and
// records are written with that registry's ids.
package registry

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"
)

// Subject contains the versions of the schema for one record type in one topic. Its name follows
// TopicRecordNameStrategy: the topic, a hyphen, the full name of the record.
type Subject struct {
	Name     string
	Versions []Version // ascending
}

// Version is one version of the schema of a [Subject].
type Version struct {
	Number int    // from 1
	ID     int    // assigned by this build
	Schema string // Avro, in JSON
}

// find returns the versions of a subject.
func find(all []Subject, subject string) ([]Version, error) {
	i := slices.IndexFunc(all, func(s Subject) bool { return s.Name == subject })
	if i < 0 {
		return nil, errSubject
	}
	return all[i].Versions, nil
}

// placed is a schema version and the subject to which it belongs.
type placed struct {
	subject string
	Version
}

// byID returns all schema versions with the given id, each with its subject.
func byID(all []Subject, id int) (found []placed) {
	for _, s := range all {
		for _, v := range s.Versions {
			if v.ID == id {
				found = append(found, placed{s.Name, v})
			}
		}
	}
	return found
}

// fault is an error in the format that schema registry clients expect.
type fault struct {
	status  int
	Code    int    `json:"error_code"`
	Message string `json:"message"`
}

func (f *fault) Error() string { return f.Message }

// The error codes are those of the Confluent Schema Registry.
var (
	errSubject  = &fault{http.StatusNotFound, 40401, "Subject not found."}
	errVersion  = &fault{http.StatusNotFound, 40402, "Version not found."}
	errSchema   = &fault{http.StatusNotFound, 40403, "Schema not found."}
	errPath     = &fault{http.StatusNotFound, 404, "HTTP 404 Not Found"}
	errNumber   = &fault{http.StatusUnprocessableEntity, 42202, "The specified version is not a valid version id."}
	errReadOnly = &fault{http.StatusUnprocessableEntity, 42205, "This registry is read-only: its schemas are those of this svc build."}
)

// largestBody is the maximum size of a request body, which is larger than every schema of svc.
const largestBody = 1 << 20

// Mount adds the registry below a path. It does not require a key, because schemas do not contain data.
func Mount(r chi.Router, path string, subjects []Subject) {
	s := &server{subjects}
	r.Route(path, func(r chi.Router) {
		r.Get("/", answer(func(*http.Request) (any, error) { return struct{}{}, nil }))
		r.Get("/subjects", answer(s.names))
		r.Get("/subjects/{subject}/versions", answer(s.versions))
		r.Get("/subjects/{subject}/versions/{version}", answer(s.version))
		r.Get("/subjects/{subject}/versions/{version}/schema", s.text(s.version))
		r.Post("/subjects/{subject}", answer(s.lookup))
		r.Get("/schemas/ids/{id}", answer(s.schema))
		r.Get("/schemas/ids/{id}/schema", s.text(s.schema))
		r.Get("/schemas/ids/{id}/subjects", answer(s.subjectsOf))
		r.Get("/schemas/ids/{id}/versions", answer(s.versionsOf))
		r.Get("/schemas/types", answer(func(*http.Request) (any, error) { return []string{"AVRO"}, nil }))
		for _, ids := range apicurioIDs {
			r.Get(ids+"/{id}", s.text(s.schema))
			r.Get(ids+"/{id}/references", answer(s.references))
		}
		level := answer(func(*http.Request) (any, error) { return map[string]string{"compatibilityLevel": "BACKWARD"}, nil })
		r.Get("/config", level)
		r.Get("/config/{subject}", level)
		mode := answer(func(*http.Request) (any, error) { return map[string]string{"mode": "READONLY"}, nil })
		r.Get("/mode", mode)
		r.Get("/mode/{subject}", mode)
		r.NotFound(answer(func(*http.Request) (any, error) { return nil, errPath }))
		r.MethodNotAllowed(answer(func(*http.Request) (any, error) { return nil, errReadOnly }))
		r.Post("/subjects/{subject}/versions", answer(func(*http.Request) (any, error) { return nil, errReadOnly }))
	})
}

// apicurioIDs are the paths that the deserializers of both supported major versions of Apicurio request. In this
// registry, the global id and the content id of a schema are equal.
var apicurioIDs = []string{
	"/apis/registry/v2/ids/globalIds", "/apis/registry/v2/ids/contentIds",
	"/apis/registry/v3/ids/globalIds", "/apis/registry/v3/ids/contentIds",
}

type server struct{ subjects []Subject }

// described is a schema as the registry's API represents it.
type described struct {
	Subject string `json:"subject,omitempty"`
	ID      int    `json:"id,omitempty"`
	Version int    `json:"version,omitempty"`
	Type    string `json:"schemaType,omitempty"`
	Schema  string `json:"schema"`
}

// answer returns a handler that responds with the result of a function as JSON.
func answer(of func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := of(r)
		status := http.StatusOK
		if f, is := err.(*fault); is { //nolint:errorlint // every error of these functions is a *fault
			status, value = f.status, f
		}
		body, err := json.Marshal(value)
		if err != nil {
			panic(err) // cannot happen, because the value contains only strings and numbers
		}
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		w.Write(body) //nolint:errcheck // an error means that the client has disconnected
	}
}

// text returns a handler that responds with only the schema.
func (s *server) text(of func(*http.Request) (any, error)) http.HandlerFunc {
	return answer(func(r *http.Request) (any, error) {
		value, err := of(r)
		if d, is := value.(described); is && err == nil {
			return json.RawMessage(d.Schema), nil
		}
		return value, err
	})
}

func (s *server) names(*http.Request) (any, error) {
	names := make([]string, len(s.subjects))
	for i := range s.subjects {
		names[i] = s.subjects[i].Name
	}
	return names, nil
}

func (s *server) versions(r *http.Request) (any, error) {
	versions, err := find(s.subjects, chi.URLParam(r, "subject"))
	numbers := make([]int, len(versions))
	for i, v := range versions {
		numbers[i] = v.Number
	}
	return numbers, err
}

func (s *server) version(r *http.Request) (any, error) {
	subject, asked := chi.URLParam(r, "subject"), chi.URLParam(r, "version")
	versions, err := find(s.subjects, subject)
	if err != nil {
		return nil, err
	}
	if asked == "latest" || asked == "-1" {
		return versions[len(versions)-1].in(subject), nil
	}
	number, err := strconv.Atoi(asked)
	if err != nil || number < 1 {
		return nil, errNumber
	}
	for _, v := range versions {
		if v.Number == number {
			return v.in(subject), nil
		}
	}
	return nil, errVersion
}

// in returns the version as the registry's API represents it, with the name of its subject.
func (v Version) in(subject string) described {
	return described{Subject: subject, ID: v.ID, Version: v.Number, Schema: v.Schema}
}

// lookup finds a schema by its text. Serializers that do not register schemas use it.
func (s *server) lookup(r *http.Request) (any, error) {
	var asked struct{ Schema string }
	if json.NewDecoder(http.MaxBytesReader(nil, r.Body, largestBody)).Decode(&asked) != nil {
		return nil, errSchema
	}
	subject := chi.URLParam(r, "subject")
	versions, err := find(s.subjects, subject)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		if sameJSON(v.Schema, asked.Schema) {
			return v.in(subject), nil
		}
	}
	return nil, errSchema
}

// sameJSON reports whether two JSON documents are equal except for white space and the order of fields.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	first, err := json.Marshal(x)
	second, other := json.Marshal(y)
	return err == nil && other == nil && string(first) == string(second)
}

func (s *server) placesOf(r *http.Request) ([]placed, error) {
	id, err := strconv.Atoi(chi.URLParam(r, "id"))
	found := byID(s.subjects, id)
	if err != nil || len(found) == 0 {
		return nil, errSchema
	}
	return found, nil
}

func (s *server) schema(r *http.Request) (any, error) {
	found, err := s.placesOf(r)
	if err != nil {
		return nil, err
	}
	return described{Schema: found[0].Schema}, nil
}

// references returns the schemas that a schema refers to. The list is empty, because every schema is self-contained.
func (s *server) references(r *http.Request) (any, error) {
	_, err := s.placesOf(r)
	return []struct{}{}, err
}

func (s *server) subjectsOf(r *http.Request) (any, error) {
	found, err := s.placesOf(r)
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].subject
	}
	return names, err
}

func (s *server) versionsOf(r *http.Request) (any, error) {
	type place struct {
		Subject string `json:"subject"`
		Version int    `json:"version"`
	}
	found, err := s.placesOf(r)
	places := make([]place, len(found))
	for i := range found {
		places[i] = place{found[i].subject, found[i].Number}
	}
	return places, err
}
