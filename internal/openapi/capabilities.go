package openapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/hospital"
	"svc/acuity/score"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
	"svc/internal/outbound"
)

// capabilities lists the features that an integration can use. The list is computed from the operations, the table of
// errors and the catalogue of factors.
type capabilities struct {
	Protocol       string           `json:"protocol"`
	Version        string           `json:"version"`      // version of this description
	RulesVersion   string           `json:"rulesVersion"` // version of the catalogue
	OpenAPI        string           `json:"openapi"`
	Documentation  string           `json:"documentation"`
	ReadEndpoints  []endpoint       `json:"readEndpoints"`
	Endpoints      []endpoint       `json:"endpoints"` // all endpoints, including those that only read
	Envelope       envelope         `json:"envelope"`
	Events         []event          `json:"events"`
	Signature      signature        `json:"signature"`
	Counts         counts           `json:"counts"`   // number of modifiers by default route
	Coverage       []coverage       `json:"coverage"` // default codes of the modifiers
	PrimaryFactors []primary        `json:"primaryFactors"`
	Scopes         []scope          `json:"scopes"`
	CodeSystems    []string         `json:"codeSystems"`
	SignalKinds    []string         `json:"signalKinds"`
	Limits         map[string]int64 `json:"limits"`
	Levels         []string         `json:"levels"` // best first
	Colors         []string         `json:"colors"`
	Axes           []axis           `json:"axes"`
}

type endpoint struct {
	Method  string       `json:"method"`
	Path    string       `json:"path"`
	Scope   access.Scope `json:"scope,omitempty"`
	Group   string       `json:"group"`
	Summary string       `json:"summary"`
	Takes   []string     `json:"takes,omitempty"`    // accepted content types
	Limit   int64        `json:"maxBytes,omitempty"` // maximum size of a request body, as transmitted
}

type envelope struct {
	Success []string    `json:"success"`
	Failure []string    `json:"failure"`
	Errors  []errorCode `json:"errors"`
}

type errorCode struct {
	Code     string `json:"code"`
	Statuses []int  `json:"statuses"`
}

type event struct {
	Event string   `json:"event"`
	When  string   `json:"when"`
	Data  []string `json:"data"`
}

type signature struct {
	Header string `json:"header"`
	Value  string `json:"value"`
}

type counts struct {
	Modifiers  int `json:"modifiers"`
	Diagnosis  int `json:"diagnosis"`
	Signal     int `json:"signal"`
	SiteMapped int `json:"siteMapped"`
}

type coverage struct {
	ID       string       `json:"id"`
	Kind     string       `json:"kind"` // always "modifier"
	Label    string       `json:"label"`
	Section  string       `json:"section"`
	Criteria string       `json:"criteria"`
	Routes   []string     `json:"routes"` // diagnosis, signal, or site if there is no default route
	Codes    []routeCodes `json:"codes"`
}

// routeCodes are the codes in one code system that activate a modifier by default.
type routeCodes struct {
	Route  string   `json:"route"`
	Kind   string   `json:"kind,omitempty"` // kind of the signal
	System string   `json:"system"`
	Codes  []string `json:"codes,omitempty"` // O15* is a prefix, O11-O13 a range of categories
	Words  []string `json:"words,omitempty"` // words to find in the display name, instead of codes
	Value  string   `json:"value,omitempty"` // condition on the value of the signal
}

type primary struct {
	ID               string `json:"id"`
	Kind             string `json:"kind"` // always "primary"
	Label            string `json:"label"`
	Section          string `json:"section"`
	Criteria         string `json:"criteria"`
	RatioPatientType string `json:"ratioPatientType"`
}

type scope struct {
	Scope  access.Scope `json:"scope"`
	Grants []string     `json:"grants"` // methods and paths that this scope allows
}

type axis struct {
	ID    string   `json:"id"`
	Label string   `json:"label"`
	Rules []string `json:"rules"` // codes for the conditions that can set the level of the axis
}

func capabilitiesOf(operations []contract.Operation) capabilities {
	c := capabilities{
		Protocol: httpapi.Protocol, Version: documentVersion, RulesVersion: catalogue.Default().Version(),
		OpenAPI: "/api/openapi.json", Documentation: httpapi.DocsPath,
		ReadEndpoints: []endpoint{}, Envelope: envelopes(), Events: events,
		Signature:   signature{"X-Svc-Signature", "sha256=<lower-case hex of HMAC-SHA256 over the raw body, key = the secret>"},
		CodeSystems: []string{string(codes.ICD10CM), string(codes.SNOMED), string(codes.LOINC), string(codes.RxNorm), string(codes.SystemLocal)},
		SignalKinds: slices.Clone(signalKinds[1:]),
		Limits:      map[string]int64{"requestsPerSecond": access.DefaultRate, "burst": access.DefaultBurst},
	}
	maps.Copy(c.Limits, hospital.Limits())
	for i := range operations {
		o := &operations[i]
		e := endpoint{Method: o.Method, Path: o.Path, Scope: o.Scope, Group: o.Group, Summary: o.Summary}
		for _, b := range o.Bodies {
			e.Takes = append(e.Takes, b.Type)
			e.Limit = max(e.Limit, b.Limit)
		}
		c.Endpoints = append(c.Endpoints, e)
		if strings.HasPrefix(string(o.Scope), "read:") {
			c.ReadEndpoints = append(c.ReadEndpoints, e)
		}
		maps.Copy(c.Limits, o.Limits)
	}
	for _, name := range append(access.Scopes(), access.Admin) {
		s := scope{Scope: name, Grants: []string{}}
		for _, e := range c.Endpoints {
			if e.Scope == name {
				s.Grants = append(s.Grants, e.Method+" "+e.Path)
			}
		}
		c.Scopes = append(c.Scopes, s)
	}
	for l := acuity.LevelGreen; l <= acuity.LevelRed; l++ {
		c.Levels = append(c.Levels, l.String())
	}
	for l := acuity.ColorGray; l <= acuity.ColorRed; l++ {
		c.Colors = append(c.Colors, l.String())
	}
	for a := range acuity.Axis(acuity.AxisCount) {
		c.Axes = append(c.Axes, axis{a.String(), a.Label(), score.ListRules(a)})
	}
	c.addFactors()
	return c
}

// addFactors adds the factors of the catalogue, and counts the modifiers by default route.
func (c *capabilities) addFactors() {
	book := catalogue.Default()
	for f := catalogue.Factor(1); int(f) <= book.Len(); f++ {
		s := book.Spec(f)
		if s.Primary {
			c.PrimaryFactors = append(c.PrimaryFactors, primary{s.ID, "primary", s.Label, s.Section.String(), s.Criteria, s.RatioPatientType})
			continue
		}
		m := coverage{
			ID: s.ID, Kind: "modifier", Label: s.Label, Section: s.Section.String(), Criteria: s.Criteria,
			Routes: []string{}, Codes: []routeCodes{},
		}
		for _, r := range s.Routes {
			if r.Refines {
				continue
			}
			one := routeCodes{Route: "diagnosis", System: string(r.System), Codes: r.Codes, Words: r.Words, Value: condition(r.Needs)}
			if !r.Diagnosis {
				one.Route, one.Kind = "signal", signalKinds[r.Kind]
			}
			if !slices.Contains(m.Routes, one.Route) {
				m.Routes = append(m.Routes, one.Route)
			}
			m.Codes = append(m.Codes, one)
		}
		c.Counts.Modifiers++
		if slices.Contains(m.Routes, "diagnosis") {
			c.Counts.Diagnosis++
		}
		if slices.Contains(m.Routes, "signal") {
			c.Counts.Signal++
		}
		if len(m.Routes) == 0 {
			c.Counts.SiteMapped++
			m.Routes = append(m.Routes, "site")
		}
		c.Coverage = append(c.Coverage, m)
	}
}

var signalKinds = [...]string{
	"", catalogue.KindMedication: "medication", catalogue.KindObservation: "observation",
	catalogue.KindLab: "lab", catalogue.KindDevice: "device",
}

// condition describes a route's condition on the value of the signal, such as "Category II".
func condition(n catalogue.Condition) string {
	switch n.Kind {
	case catalogue.NeedsNumber:
		return strings.TrimSpace(">= " + strconv.FormatFloat(float64(n.Than)/1000, 'f', -1, 64) + " " + n.Unit)
	case catalogue.NeedsCategoryII:
		return "Category II"
	case catalogue.NeedsCategoryIII:
		return "Category III"
	case catalogue.NeedsPositive:
		return "positive or detected"
	case catalogue.NeedsOxygen:
		return "oxygen is given"
	case catalogue.NeedsNotNo:
		return "any value except no"
	case catalogue.NeedsNothing:
	}
	return ""
}

func envelopes() envelope {
	e := envelope{
		Success: []string{"protocol", "ok", "data", "meta.requestId", "meta.generatedAt", "meta.hospitalId"},
		Failure: []string{"protocol", "ok", "error.code", "error.message", "error.docs", "error.details"},
	}
	for _, kind := range problem.Kinds() {
		i := slices.IndexFunc(e.Errors, func(c errorCode) bool { return c.Code == kind.Code() })
		if i < 0 {
			e.Errors = append(e.Errors, errorCode{kind.Code(), []int{kind.Status()}})
		} else if !slices.Contains(e.Errors[i].Statuses, kind.Status()) {
			e.Errors[i].Statuses = append(e.Errors[i].Statuses, kind.Status())
		}
	}
	return e
}

// events lists the webhook events. A webhook that does not select any events gets the first two.
var events = []event{
	{
		outbound.LevelChanged, "the level of the unit changes",
		[]string{"level", "priorLevel", "drivingAxis", "drivingAxisLabel", "nurseAcuityRatio", "ratioShortfall", "cause"},
	},
	{
		outbound.RoomRescored, "the color of a room changes",
		[]string{"roomId", "roomLabel", "color", "priorColor", "score", "factors", "nursingLevel", "cause"},
	},
	{
		outbound.Alert, "recipients are alerted to the level; sent only to endpoints that subscribe to this event",
		[]string{
			"level", "priorLevel", "drivingAxis", "drivingAxisLabel", "nurseAcuityRatio", "ratioShortfall", "cause",
			"tier", "reason", "episodeId", "openRooms", "topRooms", "peak", "action", "ackUrl", "worstLevel",
		},
	},
	{outbound.Ping, "an administrator tests an endpoint", []string{}},
}
