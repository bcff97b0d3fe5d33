package readapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// DeadLetter describes a record in the log that could not be applied: its position and the reason, but not its
// content.
type DeadLetter struct {
	ID        string // "partition:offset" of the record
	Topic     string
	Partition int32
	Offset    int64
	Reason    string // stable code
	SchemaID  int32  // schema id in the record; 0: none
	Version   int64  // version of the change that rejected the record; unique among a hospital's dead letters
	At        time.Time
	RetriedAt time.Time // when the record's facts were appended again; zero: not yet
}

// MountDeadLetters adds the list of dead letters. The function all returns the dead letters of a hospital, oldest
// first.
func MountDeadLetters(r chi.Router, shell *httpapi.Shell, all func(hospital string) []DeadLetter) {
	contract.Mount(r, shell, &deadLetterServer{all}, deadLetterRoutes())
}

type deadLetterServer struct {
	all func(hospital string) []DeadLetter // returns the dead letters of one hospital
}

// The default and maximum page sizes of the list.
const (
	lettersUsual  = 50
	lettersAtMost = 200
)

func deadLetterRoutes() []contract.Route[*deadLetterServer] {
	all := []contract.Route[*deadLetterServer]{
		{Operation: contract.Operation{
			Path: "/api/admin/dead-letters", ID: "listDeadLetters", Summary: "List records that could not be applied, newest first",
			About: "The position of each record and the reason for its failure, never its content. " +
				"The newest 1,000 of a hospital are kept for 90 days.",
			Parameters: []contract.Parameter{contract.Limit(lettersUsual, lettersAtMost), contract.Cursor()},
			Data:       deadLetterPage{}, Limits: map[string]int64{"deadLettersPerPage": lettersAtMost},
		}, Serve: (*deadLetterServer).list},
		{Operation: contract.Operation{
			Path: "/api/admin/dead-letters/{id}", ID: "getDeadLetter", Summary: "Get one record that could not be applied",
			Parameters: []contract.Parameter{{Name: "id", In: "path", Example: "0:0", About: "Id of the dead letter: the position of its record."}},
			Data:       deadLetterItem{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: (*deadLetterServer).get},
	}
	for i := range all {
		o := &all[i].Operation
		o.Method, o.Group, o.Scope = http.MethodGet, "Administration", access.Admin
	}
	return all
}

type deadLetterPage struct {
	Items      []deadLetterItem `json:"items"`
	NextCursor *string          `json:"nextCursor"` // null: this is the last page
}

type deadLetterItem struct {
	ID        string        `json:"id"`
	Topic     string        `json:"topic"`
	Partition int32         `json:"partition"`
	Offset    int64         `json:"offset"`
	Reason    string        `json:"reason"`   // unknown_schema, malformed_record or wrong_hospital
	SchemaID  *int32        `json:"schemaId"` // id in the schema registry; null: the record has none
	Version   int64         `json:"version"`  // version of the change that rejected the record
	At        httpapi.Time  `json:"at"`
	RetriedAt *httpapi.Time `json:"retriedAt"` // when the record's facts were appended again; null: not yet
}

func deadLetterOf(l *DeadLetter) deadLetterItem {
	item := deadLetterItem{
		ID: l.ID, Topic: l.Topic, Partition: l.Partition, Offset: l.Offset, Reason: l.Reason,
		Version: l.Version, At: httpapi.Time(l.At),
	}
	if l.SchemaID != 0 {
		item.SchemaID = &l.SchemaID
	}
	if !l.RetriedAt.IsZero() {
		item.RetriedAt = new(httpapi.Time(l.RetriedAt))
	}
	return item
}

func (s *deadLetterServer) list(w http.ResponseWriter, r *http.Request) {
	query := httpapi.QueryOf(r)
	limit, before := int(query.Whole("limit", lettersUsual, 1, lettersAtMost)), query.Whole("cursor", 0, 1, httpapi.MostWhole)
	if query.Refused(w, r) {
		return
	}
	all := s.all(httpapi.Caller(r.Context()).Hospital)
	page := deadLetterPage{Items: []deadLetterItem{}}
	for i := len(all) - 1; i >= 0; i-- {
		if before > 0 && all[i].Version >= before {
			continue
		}
		if len(page.Items) == limit {
			page.NextCursor = some(strconv.FormatInt(page.Items[limit-1].Version, 10))
			break
		}
		page.Items = append(page.Items, deadLetterOf(&all[i]))
	}
	httpapi.OK(w, r, page)
}

func (s *deadLetterServer) get(w http.ResponseWriter, r *http.Request) {
	all := s.all(httpapi.Caller(r.Context()).Hospital)
	id := httpapi.PathValue(r, "id")
	at := slices.IndexFunc(all, func(l DeadLetter) bool { return l.ID == id })
	if at < 0 {
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return
	}
	httpapi.OK(w, r, deadLetterOf(&all[at]))
}
