package ingest

import (
	"net/http"

	"svc/acuity"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
)

// localSettingsRoutes are the operations for the local settings of a hospital. A local
// setting can change verdicts, so it is an observation like any other.
func localSettingsRoutes() []contract.Route[*acts] {
	id := func(about, example string) contract.Parameter {
		return contract.Parameter{Name: "id", In: "path", About: about, Example: example}
	}
	all := []contract.Route[*acts]{
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/terminology", ID: "setTerminology", Summary: "Map codes of the hospital to factors",
			About: "A list of rows, or one row as the body. All that was ever sent is read anew before the answer: nothing needs to be sent " +
				"again. A row about the same code, kind and value replaces the one before. A code with a trailing * is a prefix.",
			Bodies: jsonBody(maxBody, terminologyShape{},
				contract.Example{
					Name: "A local alert and a threshold",
					Text: `{"mappings":[{"system":"local","code":"OB_HEM_ALERT","factorId":"high-hemorrhage","comment":"from the alert module"},` +
						`{"system":"local","code":"QBL","kind":"lab","factorId":"high-hemorrhage","value":{"op":">=","than":1500}}]}`,
				}),
			Data: terminologyAnswer{}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
			Limits: map[string]int64{"mappingsPerRequest": itemsAtMost[terminologyShape]("mappings")},
		}, Serve: serveAct(acuity.ChannelTerminology, "terminology.set", setTerminology)},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/terminology/{id}", ID: "deleteTerminology", Summary: "Take a mapping back",
			Parameters: []contract.Parameter{id("Of the mapping.", "map-000000000000000000000000")},
			Data:       acted{}, Refuses: []httpapi.Kind{httpapi.Missing},
		}, Serve: serveAct(acuity.ChannelTerminology, "terminology.delete", deleteTerminology)},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/terminology/worklist/ignore", ID: "ignoreCodes", Summary: "Codes that nobody need look at",
			About:  "They are counted on, and mean what they meant. Codes as the worklist names them, a list or one as the body.",
			Bodies: jsonBody(maxBody, marksShape{}, contract.Example{Name: "A code", Text: `{"codes":[{"system":"local","code":"TRAY_COUNT"}]}`}),
			Data:   acted{}, Limits: map[string]int64{"codesPerRequest": itemsAtMost[marksShape]("codes")},
		}, Serve: serveAct(acuity.ChannelTerminology, "terminology.ignore", markCodes(false))},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/terminology/worklist/restore", ID: "restoreCodes",
			Summary: "Codes that somebody should look at again",
			Bodies:  jsonBody(maxBody, marksShape{}, contract.Example{Name: "A code", Text: `{"codes":[{"system":"local","code":"TRAY_COUNT"}]}`}),
			Data:    acted{},
		}, Serve: serveAct(acuity.ChannelTerminology, "terminology.restore", markCodes(true))},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/rules", ID: "setRule", Summary: "Override values of one factor",
			About: ruleAbout,
			Bodies: jsonBody(maxBody, ruleShape{}, contract.Example{
				Name: "Magnesium, 90 minutes",
				Text: `{"factorId":"high-mag","values":{"floor":"1 until 90m, 1/2"},"comment":"our protocol"}`,
			}),
			Data: ruleAnswer{}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
		}, Serve: serveAct(acuity.ChannelRules, "rules.set", setRule)},
		{Operation: contract.Operation{
			Method: http.MethodPut, Path: "/api/admin/rules/{id}", ID: "putRule", Summary: "Override values of the factor of the path",
			About:      ruleAbout,
			Parameters: []contract.Parameter{id("Of the factor.", "high-mag")},
			Bodies: jsonBody(maxBody, ruleOfPathShape{}, contract.Example{
				Name: "Magnesium, 90 minutes",
				Text: `{"values":{"floor":"1 until 90m, 1/2"}}`,
			}),
			Data: ruleAnswer{}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
		}, Serve: serveAct(acuity.ChannelRules, "rules.set", setRule)},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/rules/{id}", ID: "deleteRule", Summary: "Back to the catalogue",
			Parameters: []contract.Parameter{id("Of the factor.", "high-mag")},
			Data:       ruleAnswer{}, Refuses: []httpapi.Kind{httpapi.Missing},
		}, Serve: serveAct(acuity.ChannelRules, "rules.delete", deleteRule)},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/locations", ID: "setLocation", Summary: "Say which room a place is, or that it is outside",
			About: "A list of rows, all or none, or one row as the body. A row about the same place replaces the one before. " +
				"With neither roomId nor outside it says that the place is of this unit. The room that it names is confirmed.",
			Bodies: jsonBody(maxBody, contract.AnyOf{placeShape{}, placesShape{}}, contract.Example{
				Name: "A room",
				Text: `{"pointOfCare":"BIRTHCENTER","room":"B9","roomId":9,"roomLabel":"Birth 9","area":"LDR"}`,
			}, contract.Example{
				Name: "Another unit",
				Text: `{"pointOfCare":"ICU","outside":true}`,
			}, contract.Example{
				Name: "A table",
				Text: `{"locations":[{"pointOfCare":"OBTRIAGE"},` +
					`{"pointOfCare":"BIRTHCENTER","room":"B10","roomId":10,"roomLabel":"Birth 10","area":"LDR"}]}`,
			}),
			Data: locationAnswer{}, Refuses: []httpapi.Kind{httpapi.Unprocessable},
			Limits: map[string]int64{"locationsPerRequest": itemsAtMost[placesShape]("locations")},
		}, Serve: serveAct(acuity.ChannelLocations, "locations.set", setLocation)},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/locations/{id}", ID: "deleteLocation", Summary: "Take a row of the location table back",
			Parameters: []contract.Parameter{id("Of the row.", "room-9")},
			Data:       locationAnswer{}, Refuses: []httpapi.Kind{httpapi.Missing},
		}, Serve: serveAct(acuity.ChannelLocations, "locations.delete", deleteLocation)},
		{Operation: contract.Operation{
			Method: http.MethodPut, Path: "/api/admin/settings", ID: "putSettings", Summary: "Set all settings of the hospital",
			About: "What is left out has its default. Time zone and senders hold for later requests; the switches re-read all that was sent.",
			Bodies: jsonBody(maxBody, settingsShape{}, contract.Example{
				Name: "A time zone and a switch",
				Text: `{"timezone":"America/Chicago","staffingFromRoster":true}`,
			}),
			Data: settingsAnswer{}, Refuses: []httpapi.Kind{httpapi.Missing, httpapi.Unprocessable},
		}, Serve: (*acts).setSettings},
	}
	for i := range all {
		o := &all[i].Operation
		o.Group, o.Scope = "Administration", access.Admin
		if o.Refuses = append(o.Refuses, httpapi.Precondition); len(o.Bodies) == 0 { // with a body Invalid is said anyway
			o.Refuses = append(o.Refuses, httpapi.Invalid)
		}
		o.Parameters = append(o.Parameters,
			contract.Parameter{
				Name: dryRun, In: "query", About: "true: say what would change, and change nothing.",
				Values: []string{"true", "false"},
			},
			contract.Parameter{
				Name: "If-Match", In: "header",
				About: "The version that the resource must have, in quotes; * for any. " +
					"For many rows it may be the version of their table, as its list tells it: then no row of the table may have changed.",
				Example: `"57"`, Pattern: "version",
			},
			contract.Parameter{Name: "If-None-Match", In: "header", About: "*: only if it is not there yet.", Example: "*", Pattern: "none"},
		)
	}
	return all
}
