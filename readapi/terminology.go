package readapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/acuity/suggest"
	"svc/acuity/terminology"
	"svc/internal/httpapi"
)

// noFactor is the factorId for codes that are known to have no meaning.
const noFactor = "none"

// kindNames maps each kind of mapping or code to its name in the API. The API returns null instead of "".
var kindNames = [...]string{
	"", catalogue.KindMedication: "medication", catalogue.KindObservation: "observation", catalogue.KindLab: "lab",
	catalogue.KindDevice: "device", catalogue.KindCondition: "diagnosis",
}

var comparisons = [...]string{
	codes.Equal: "=", codes.Less: "<", codes.LessOrEqual: "<=", codes.Greater: ">", codes.GreaterOrEqual: ">=",
}

type mappingItem struct {
	ID       string        `json:"id"`
	System   string        `json:"system"`
	Code     string        `json:"code"`
	FactorID string        `json:"factorId"`
	Label    string        `json:"label"` // label of the factor
	Kind     *string       `json:"kind"`  // null: applies to both diagnoses and signals
	Value    *mappingValue `json:"value"` // null: applies to any value
	Comment  string        `json:"comment"`
	authored
}

type mappingValue struct {
	Op   string  `json:"op"`
	Than decimal `json:"than"`
}

type terminologyList struct {
	Mappings []mappingItem `json:"mappings"` // ordered by system and code
	Total    int           `json:"total"`
	Version  int64         `json:"version"` // version of the map, for the If-Match header of a request that changes many rows
}

func (s *Reads) serveTerminology(w http.ResponseWriter, r *http.Request) {
	part, ok := readPage(w, r, mappingsUsual, mappingsAtMost)
	if !ok {
		return
	}
	all, ok := s.readRecords(w, r, false)
	if !ok {
		return
	}
	slices.SortFunc(all.mappings, func(a, b *facts.MappingState) int {
		return cmp.Or(cmp.Compare(a.System, b.System), strings.Compare(a.Code, b.Code), strings.Compare(a.ID, b.ID))
	})
	versions := map[string]int64{}
	for _, m := range all.mappings {
		versions[m.ID] = m.Version
	}
	out := terminologyList{Mappings: []mappingItem{}, Total: len(all.mappings), Version: facts.TableVersion(versions)}
	for _, m := range pageOf(part, all.mappings) {
		out.Mappings = append(out.Mappings, mappingOf(m))
	}
	answerList(w, r, out)
}

func mappingOf(m *facts.MappingState) mappingItem {
	item := mappingItem{
		ID: m.ID, System: string(m.System), Code: m.Code, FactorID: noFactor, Comment: m.Comment,
		authored: authored{m.Version, m.By, instant(m.At)},
	}
	if m.Factor != 0 {
		item.FactorID, item.Label = m.Factor.ID(), m.Factor.Label()
	}
	if m.Kind != 0 {
		item.Kind = &kindNames[m.Kind]
	}
	if m.Op != codes.Equal || m.Than != 0 {
		item.Value = &mappingValue{comparisons[m.Op], decimal{int64(m.Than), 3}}
	}
	return item
}

// The states of codes in the worklist.
const (
	codeUnmapped = "unmapped"
	codeIgnored  = "ignored"
	codeMapped   = "mapped"
)

type codeItem struct {
	System      string       `json:"system"`
	Code        string       `json:"code"`
	Display     string       `json:"display"`
	Kind        string       `json:"kind"`
	Feed        string       `json:"feed"` // feed of the latest occurrence
	Count24h    int64        `json:"count24h"`
	CountTotal  int64        `json:"countTotal"`
	FirstSeenAt httpapi.Time `json:"firstSeenAt"`
	LastSeenAt  httpapi.Time `json:"lastSeenAt"`
	Rooms       []int32      `json:"rooms"` // ids of at most twenty rooms
	Status      string       `json:"status"`
	Suggestions []suggestion `json:"suggestions"`
}

type suggestion struct {
	FactorID string `json:"factorId"`
	Score    int32  `json:"score"`
	Reason   string `json:"reason"`
}

type worklistList struct {
	Items []codeItem `json:"items"` // most frequent first
	Total int        `json:"total"` // number of codes with the requested status
}

// listedCode is a code with the values by which the list is sorted.
type listedCode struct {
	*facts.CodeState
	status string
	recent int64
}

// listCodes returns all codes in the worklist, with their current states.
func (all *records) listCodes(now acuity.Instant) []listedCode {
	rows := make([]acuity.Mapping, len(all.mappings))
	for i, m := range all.mappings {
		rows[i] = m.Mapping
	}
	known := terminology.NewMappings(rows)
	list := make([]listedCode, len(all.codes))
	for i, c := range all.codes {
		l := listedCode{CodeState: c, status: codeUnmapped}
		switch {
		case known.Knows(c.System, c.Code, c.Kind):
			l.status = codeMapped
		case c.Ignored:
			l.status = codeIgnored
		}
		for _, h := range c.Hours {
			if h.Hour > now.Hour()-24 {
				l.recent += int64(h.Count)
			}
		}
		list[i] = l
	}
	return list
}

// countUnmapped returns the number of a hospital's unmapped codes, and how often they were received in the last 24
// hours.
func (s *Reads) countUnmapped(ctx context.Context, hospital string) (n int, hits int64, err error) {
	encoded, err := s.cfg.LocalSettings.LocalSettings(ctx, hospital, true)
	if err != nil && !errors.Is(err, ErrNoUnit) {
		return 0, 0, err //nolint:wrapcheck // the interface returns this package's errors
	}
	all, err := s.decodeRecords(encoded)
	if err != nil {
		return 0, 0, err
	}
	for _, l := range all.listCodes(acuity.At(s.cfg.Shell.Now())) {
		if l.status == codeUnmapped {
			n++
			hits += l.recent
		}
	}
	return n, hits, nil
}

func (s *Reads) serveWorklist(w http.ResponseWriter, r *http.Request) {
	part, ok := readPage(w, r, codesUsual, codesAtMost)
	if !ok {
		return
	}
	query := httpapi.QueryOf(r)
	wanted, named := query.One("status", codeUnmapped, codeIgnored, codeMapped), query.Text("code")
	if query.Refused(w, r) {
		return
	}
	all, ok := s.readRecords(w, r, true)
	if !ok {
		return
	}
	list := slices.DeleteFunc(all.listCodes(acuity.At(s.cfg.Shell.Now())), func(l listedCode) bool {
		return named != "" && !strings.EqualFold(l.Code, named) || wanted != "" && wanted != l.status
	})
	slices.SortFunc(list, func(a, b listedCode) int {
		return cmp.Or(cmp.Compare(b.recent, a.recent), cmp.Compare(b.Count, a.Count), cmp.Compare(a.System, b.System),
			strings.Compare(a.Code, b.Code), cmp.Compare(a.Kind, b.Kind))
	})
	out := worklistList{Items: []codeItem{}, Total: len(list)}
	for _, l := range pageOf(part, list) {
		out.Items = append(out.Items, codeOf(&l))
	}
	answerList(w, r, out)
}

func codeOf(l *listedCode) codeItem {
	item := codeItem{
		System: string(l.System), Code: l.Code, Display: l.Display, Kind: kindNames[l.Kind], Feed: string(l.Feed),
		Count24h: l.recent, CountTotal: l.Count, FirstSeenAt: instant(l.FirstSeen), LastSeenAt: instant(l.LastSeen),
		Rooms: l.Rooms, Status: l.status, Suggestions: []suggestion{},
	}
	if l.Kind == 0 {
		item.Kind = kindNames[catalogue.KindCondition]
	}
	if item.Rooms == nil {
		item.Rooms = []int32{}
	}
	for _, s := range suggest.Factors(l.System, l.Code, l.Display, l.Kind) {
		item.Suggestions = append(item.Suggestions, suggestion{s.Factor.ID(), s.Score, s.Reason})
	}
	return item
}
