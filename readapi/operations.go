package readapi

import (
	"net/http"
	"slices"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
)

// Operations are the API operations that read.
func Operations() []contract.Operation {
	return slices.Concat(contract.Operations(routes()), contract.Operations(auditRoutes()), contract.Operations(deadLetterRoutes()),
		contract.Operations(acknowledgeRoutes()), contract.Operations(receiptRoutes()))
}

func routes() []contract.Route[*server] {
	all := []contract.Route[*server]{
		{Operation: contract.Operation{
			Path: "/api/v1/unit-state", ID: "getUnitState", Summary: "The verdict: level, axes, and every room with its score and factors",
			About: "Judged at the moment of the request. The entity tag changes when, and only when, the data does. " + refusedAbout,
			Data:  unitStateShape{},
		}, Serve: (*server).unitState},
		{Operation: contract.Operation{
			Path: "/api/v1/level", ID: "getLevel", Summary: "The level alone, cheap to poll",
			About: refusedAbout, Data: level{},
		}, Serve: (*server).level},
	}
	for i := range all {
		o := &all[i].Operation
		o.Method, o.Group, o.Scope = http.MethodGet, "Reads", access.ReadUnitState
		o.Refuses = []httpapi.Kind{httpapi.Missing}
		o.Parameters = []contract.Parameter{ifNoneMatch}
	}
	all = append(all, contract.Route[*server]{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/v1/predict", Scope: access.ReadPredict, ID: "getPrediction", Group: "Reads",
		Summary: "The next eight hours: the level, and the nurses that will be required",
		About: "Made for the full minute, or for the last change since; `current` is the unit at that instant. What is said of an hour holds at its end, save the arrivals expected within it. " +
			"Learned from the hours of the hospital: 422 while fewer than 24 of the last 28 days were observed, or after 12 hours of silence. Past events sent by `/batch` count. Not validated clinically.",
		Parameters: []contract.Parameter{ifNoneMatch}, Refuses: []httpapi.Kind{httpapi.Unprocessable}, Data: predict{},
	}, Serve: (*server).predict})
	all = append(all, contract.Route[*server]{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/ingest/status", Scope: access.ReadStatus, ID: "getStatus", Group: "Feeds",
		Summary: "How the feeds are doing: what came in, how far it is applied, what is wrong",
		About:   "Answers also when Kafka or Redis is away: then that is what it tells, and what it cannot know is null.",
		Data:    statusAnswer{},
	}, Serve: (*server).status})
	return slices.Concat(all, sourceRoutes(), localSettingsRoutes(), trendsRoutes())
}

// refusedAbout tells a reader about a verdict that is withheld.
const refusedAbout = "A verdict that may not be the truth is not told: 503 with `Retry-After`, and in `details` the rule `processing_behind` " +
	"(something that was sent may not be in it), `view_incomplete` or `view_away`. `GET /api/ingest/status` tells more."

// unitStateShape documents [unitState] for readers: its rooms have the type room.
type unitStateShape struct {
	unitState
	Rooms []room `json:"rooms"`
}

var ifNoneMatch = contract.Parameter{
	Name: "If-None-Match", In: "header", About: "The entity tag of the answer that the reader has: 304 if it still holds.", Example: `W/"0"`,
}
