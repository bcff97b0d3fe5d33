package ingest

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/terminology"
	"svc/internal/httpapi"
	"svc/internal/httpapi/syntax"
)

// maxMappingID is the maximum length of a row id in a path.
const maxMappingID = 200

// noFactor is the factorId for a code that is known to have no meaning. It overrides the catalogue's mapping of that
// code.
const noFactor = "none"

// Values that the fields of a mapping may have.
var (
	mappingKinds = map[string]catalogue.SignalKind{
		"medication": catalogue.KindMedication, "observation": catalogue.KindObservation, "lab": catalogue.KindLab,
		"device": catalogue.KindDevice, "diagnosis": catalogue.KindCondition,
	}
	comparators = map[string]codes.Comparator{
		"<": codes.Less, "<=": codes.LessOrEqual, ">": codes.Greater, ">=": codes.GreaterOrEqual,
	}
)

type terminologyAnswer struct {
	acted
	Mappings []mappingAnswer `json:"mappings"` // rows as stored, in the order of the request
}

type mappingAnswer struct {
	ID       string `json:"id"`
	System   string `json:"system"`
	Code     string `json:"code"`
	FactorID string `json:"factorId"`
}

func setTerminology(in *reader, _ *http.Request, body []byte, o *acuity.Observation) ([]string, func(acted) any) {
	o.Mappings = in.mappings(body)
	ids := make([]string, len(o.Mappings))
	rows := make([]mappingAnswer, len(o.Mappings))
	for i := range o.Mappings {
		m := &o.Mappings[i]
		ids[i] = m.ID
		rows[i] = mappingAnswer{m.ID, string(m.System), m.Code, factorName(m.Factor)}
	}
	return ids, func(a acted) any { return terminologyAnswer{a, rows} }
}

func factorName(f catalogue.Factor) string {
	if f == 0 {
		return noFactor
	}
	return f.ID()
}

func deleteTerminology(_ *reader, r *http.Request, _ []byte, o *acuity.Observation) ([]string, func(acted) any) {
	id := httpapi.PathValue(r, "id")
	if len(id) > maxMappingID {
		return nil, nil
	}
	o.Mappings = []acuity.Mapping{{ID: id, Delete: true}}
	return []string{id}, onlyEffects
}

// mappings reads the rows of a request: a list, or a single row as the whole body.
func (r *reader) mappings(body []byte) (all []acuity.Mapping) {
	seen := map[string]bool{}
	for in := range r.rows(body, "mappings", shapeOf[terminologyShape]()) {
		m := in.mapping()
		if seen[m.ID] {
			in.unfit(in.path, "unique") // two rows have the same code, kind and value, but only one could apply
		}
		seen[m.ID] = true
		all = append(all, m)
	}
	return all
}

// mapping reads one row of the terminology map.
func (o object) mapping() acuity.Mapping {
	m := acuity.Mapping{Code: o.text("code"), Comment: o.remark()}
	if raw, ok := o.find("system"); ok {
		if raw[0] != '"' {
			o.fault(o.at("system"), "type:string")
		} else if system, guessed := codes.NormalSystem(string(syntax.Unquote(raw)), m.Code); guessed {
			o.faultWord("system")
		} else {
			m.System = system
		}
	}
	if m.Code != "" && strings.Trim(m.Code, "* ") == "" {
		o.fault(o.at("code"), "minLength:1") // a row without a code would match every code in the system
	}
	if id := o.text("factorId"); id != "" && id != noFactor {
		f, ok := catalogue.FactorByID(id)
		if m.Factor = f; !ok {
			o.unfit(o.at("factorId"), "factor")
		}
	}
	m.Kind = mappingKinds[o.word("kind")]
	value := o.inner("value")
	if value.reader != nil {
		m.Op = comparators[value.word("op")]
		m.Than = value.limit("than")
		value.close()
		if m.Kind == catalogue.KindCondition {
			o.unfit(o.at("value"), "signal") // a diagnosis has no value
		}
	}
	m.ID = terminology.MappingID(&m)
	return m
}

// limit reads a number and returns it in thousandths, rounded. It returns 0 if the field is missing or invalid.
func (o object) limit(name string) codes.Milli {
	raw, ok := o.find(name)
	if !ok {
		return 0
	}
	if !isNumber(raw) || len(raw) > maxDigits {
		o.fault(o.at(name), "type:number")
		return 0
	}
	v := codes.ParseValue(string(raw))
	if v.Kind == codes.ValueNumber {
		return v.Number
	}
	f, err := strconv.ParseFloat(string(raw), 64) // ParseFloat also reads an exponent
	if err != nil || math.Abs(f) > 1e9 {
		o.fault(o.at(name), "max:1e9")
		return 0
	}
	return codes.Milli(math.Round(f * 1000))
}

// markCodes removes codes from the worklist or, if restore is true, restores ignored codes. The body has the form of
// the worklist: a list of codes, or a single code as the whole body.
func markCodes(restore bool) readAct {
	return func(in *reader, _ *http.Request, body []byte, o *acuity.Observation) (marked []string, _ func(acted) any) {
		for row := range in.rows(body, "codes", shapeOf[marksShape]()) {
			m := row.mark(restore)
			o.Marks = append(o.Marks, m)
			marked = append(marked, string(m.System)+" "+m.Code)
		}
		return marked, onlyEffects
	}
}

func (o object) mark(restore bool) acuity.CodeMark {
	m := acuity.CodeMark{
		System: codes.System(o.text("system")), // as sent
		Code:   o.text("code"), Delete: restore,
	}
	m.Kind = mappingKinds[o.word("kind")]
	return m
}

type terminologyShape struct {
	Mappings []mappingShape `json:"mappings" minItems:"1" maxItems:"5000"`
}

type mappingShape struct {
	System   string        `json:"system" enum:"ICD-10-CM,SNOMED-CT,LOINC,RxNorm,local"`
	Code     string        `json:"code" pattern:"mapped" maxLength:"64"`
	FactorID string        `json:"factorId" pattern:"word" maxLength:"64" doc:"none: the code has no clinical meaning here."`
	Kind     string        `json:"kind,omitempty" enum:"medication,observation,lab,device,diagnosis" doc:"Default: diagnoses and signals."`
	Value    *mappingLimit `json:"value,omitempty" doc:"Condition that the numeric value of the signal must satisfy; not allowed for the kind diagnosis."`
	Comment  string        `json:"comment,omitempty" maxLength:"200"`
}

type mappingLimit struct {
	Op   string  `json:"op" enum:"<,<=,>,>="`
	Than float64 `json:"than" minimum:"-1000000000" maximum:"1000000000"`
}

type marksShape struct {
	Codes []markShape `json:"codes" minItems:"1" maxItems:"1000"`
}

type markShape struct {
	System string `json:"system,omitempty" maxLength:"64"`
	Code   string `json:"code" pattern:"word" maxLength:"64"`
	Kind   string `json:"kind,omitempty" enum:"medication,observation,lab,device,diagnosis" doc:"Default: any kind."`
}
