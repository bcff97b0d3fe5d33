package ingest

import (
	"net/http"

	"svc/acuity"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// unchangedAbout describes the response to a request that sets what is already set.
const unchangedAbout = " If the request changes nothing, versions stay the same, and the response has the warning `unchanged`."

// localSettingsRoutes returns the operations for a hospital's local settings. Local settings can change verdicts, so
// each change is an observation like any other.
func localSettingsRoutes() []contract.Route[*acts] {
	id := func(about, example string) contract.Parameter {
		return contract.Parameter{Name: "id", In: "path", About: about, Example: example}
	}
	all := []contract.Route[*acts]{
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/terminology", ID: "setTerminology", Summary: "Map the hospital's codes to factors",
			About: "A list of rows, or one row as the body. Stored facts are re-evaluated with the new rows before the response is sent, so " +
				"nothing needs to be sent again. A row replaces an earlier row with the same code, kind and value. " +
				"A code with a trailing * is a prefix." + unchangedAbout,
			Bodies: jsonBody(maxBody, terminologyShape{},
				contract.Example{
					Name: "A local alert and a threshold",
					Text: `{"mappings":[{"system":"local","code":"OB_HEM_ALERT","factorId":"high-hemorrhage","comment":"from the alert module"},` +
						`{"system":"local","code":"QBL","kind":"lab","factorId":"high-hemorrhage","value":{"op":">=","than":1500}}]}`,
				}),
			Data: terminologyAnswer{}, Refuses: []problem.Kind{problem.Unprocessable},
			Limits: map[string]int64{"mappingsPerRequest": itemsAtMost[terminologyShape]("mappings")},
		}, Serve: serveAct(acuity.ChannelTerminology, "terminology.set", setTerminology)},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/terminology/{id}", ID: "deleteTerminology", Summary: "Remove a mapping",
			Parameters: []contract.Parameter{id("Id of the mapping.", "map-000000000000000000000000")},
			Data:       acted{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: serveAct(acuity.ChannelTerminology, "terminology.delete", deleteTerminology)},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/terminology/worklist/ignore", ID: "ignoreCodes", Summary: "Mark codes as ignored",
			About: "The codes keep their meaning and are still counted. " +
				"Send the codes exactly as the worklist shows them: a list, or one code as the body.",
			Bodies: jsonBody(maxBody, marksShape{}, contract.Example{Name: "A code", Text: `{"codes":[{"system":"local","code":"TRAY_COUNT"}]}`}),
			Data:   acted{}, Limits: map[string]int64{"codesPerRequest": itemsAtMost[marksShape]("codes")},
		}, Serve: serveAct(acuity.ChannelTerminology, "terminology.ignore", markCodes(false))},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/terminology/worklist/restore", ID: "restoreCodes",
			Summary: "Mark codes for review again",
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
			Data: ruleAnswer{}, Refuses: []problem.Kind{problem.Unprocessable},
		}, Serve: serveAct(acuity.ChannelRules, "rules.set", setRule)},
		{Operation: contract.Operation{
			Method: http.MethodPut, Path: "/api/admin/rules/{id}", ID: "putRule", Summary: "Override values of one factor",
			About:      ruleAbout,
			Parameters: []contract.Parameter{id("Id of the factor.", "high-mag")},
			Bodies: jsonBody(maxBody, ruleOfPathShape{}, contract.Example{
				Name: "Magnesium, 90 minutes",
				Text: `{"values":{"floor":"1 until 90m, 1/2"}}`,
			}),
			Data: ruleAnswer{}, Refuses: []problem.Kind{problem.Unprocessable},
		}, Serve: serveAct(acuity.ChannelRules, "rules.set", setRule)},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/rules/{id}", ID: "deleteRule", Summary: "Restore the catalogue values of a factor",
			Parameters: []contract.Parameter{id("Id of the factor.", "high-mag")},
			Data:       ruleAnswer{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: serveAct(acuity.ChannelRules, "rules.delete", deleteRule)},
		{Operation: contract.Operation{
			Method: http.MethodPost, Path: "/api/admin/locations", ID: "setLocation", Summary: "Map a location to a room, or mark it as " +
				"outside the unit",
			About: "A list of rows, of which all or none are applied, or one row as the body. A row replaces an earlier row for the same " +
				"location. " +
				"A row with neither roomId nor outside marks the location as part of the unit. A row with roomId also confirms the room." +
				unchangedAbout,
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
			Data: locationAnswer{}, Refuses: []problem.Kind{problem.Unprocessable},
			Limits: map[string]int64{"locationsPerRequest": itemsAtMost[placesShape]("locations")},
		}, Serve: serveAct(acuity.ChannelLocations, "locations.set", setLocation)},
		{Operation: contract.Operation{
			Method: http.MethodDelete, Path: "/api/admin/locations/{id}", ID: "deleteLocation", Summary: "Remove a row from the location table",
			Parameters: []contract.Parameter{id("Id of the row.", "room-9")},
			Data:       locationAnswer{}, Refuses: []problem.Kind{problem.Missing},
		}, Serve: serveAct(acuity.ChannelLocations, "locations.delete", deleteLocation)},
		{Operation: contract.Operation{
			Method: http.MethodPut, Path: "/api/admin/settings", ID: "putSettings", Summary: "Replace all settings of the hospital",
			About: "Omitted settings get their defaults. Time zone and senders apply to later requests; the switches also re-evaluate stored " +
				"facts." + unchangedAbout,
			Bodies: jsonBody(maxBody, settingsShape{}, contract.Example{
				Name: "A time zone and a switch",
				Text: `{"timezone":"America/Chicago","staffingFromRoster":true}`,
			}),
			Data: settingsAnswer{}, Refuses: []problem.Kind{problem.Missing, problem.Unprocessable},
		}, Serve: (*acts).setSettings},
	}
	for i := range all {
		o := &all[i].Operation
		o.Group, o.Scope = "Administration", access.Admin
		o.Refuses = append(o.Refuses, problem.Precondition)
		o.Parameters = append(o.Parameters,
			contract.Parameter{
				Name: dryRun, In: "query", About: "true: return what would change without changing anything.",
				Values: []string{"true", "false"},
			},
			contract.Parameter{
				Name: "If-Match", In: "header",
				About: "The version that the resource must have, in quotes, or * for any version. " +
					"For several rows, send the version of their table, which the list returns; " +
					"the request fails if any row of the table has changed since.",
				Example: `"57"`, Pattern: "version",
			},
			contract.Parameter{
				Name: "If-None-Match", In: "header", Example: "*", Pattern: "none",
				About: "Send * to make the change only if the resource does not exist yet.",
			},
		)
	}
	return all
}
