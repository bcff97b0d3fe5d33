package ingest_test

import (
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/score"
)

// TestPrimaryFactorsFromMessages tests the table in docs/decisions.md#primary-table: the primary factor of a patient
// if no message states one.
func TestPrimaryFactorsFromMessages(t *testing.T) {
	const ldr, tri = "3=L&D^LDR04^01", "3=OBTRI^T02^01"
	reason := func(text string) string { return "PV2|||^" + text }
	for name, row := range map[string]struct {
		words []string
		want  string
		by    string // assignedBy; "": not checked
	}{
		"triage":                       {[]string{tri, "2=O"}, "triage-initial", ""},
		"triage, not of obstetrics":    {[]string{tri, "2=O", reason("Fever and cough")}, "triage-medical-eval", ""},
		"triage, membranes":            {[]string{tri, "2=O", reason("Leaking fluid since noon")}, "triage-rom", ""},
		"triage, no leaking":           {[]string{tri, "2=O", reason("Contractions, no leaking")}, "triage-initial", ""},
		"triage, non-stress test":      {[]string{tri, "2=O", reason("NST")}, "ap-nst", ""},
		"triage, admitted and waiting": {[]string{tri, "2=I"}, "triage-admit", ""},
		"labor":                        {[]string{ldr}, "labor-standard", "table"},
		"labor, ripening":              {[]string{ldr, reason("Cervical ripening, misoprostol")}, "labor-ripening", ""},
		"labor, induction":             {[]string{ldr, reason("Induction of labor")}, "labor-induction", ""},
		"labor, repeat cesarean":       {[]string{ldr, reason("Scheduled repeat cesarean")}, "csection-admit", ""},
		"labor, cesarean by code":      {[]string{ldr, "DG1|1||O82^x^I10"}, "csection-admit", ""},
		"labor, complication":          {[]string{ldr, reason("Placental abruption")}, "labor-complications", ""},
		"labor, early":                 {[]string{ldr, reason("Early labor")}, "labor-active-lt4", ""},
		"labor, epidural":              {[]string{ldr, reason("Epidural in place")}, "labor-epidural", ""},
		"labor, auscultation":          {[]string{ldr, reason("Intermittent auscultation")}, "labor-ia", ""},
		"labor, just delivered":        {[]string{ldr, "DG1|1||Z37.0^x^I10"}, "pp-immediate-recovery-vag", ""},
		"labor, just delivered by CS":  {[]string{ldr, "DG1|1||Z37.0^x^I10", "DG1|2||O82^x^I10"}, "pp-csection", ""},
		"operating room":               {[]string{"3=OBOR^OR1"}, "csection-intraop", ""},
		"operating room, cerclage":     {[]string{"3=OBOR^OR1", reason("Cerclage placement")}, "or-cerclage-placement", ""},
		"operating room, D&C":          {[]string{"3=OBOR^OR1", reason(`D\T\C`)}, "or-d-and-c", ""},
		"operating room, EXIT":         {[]string{"3=OBOR^OR1", reason("EXIT procedure")}, "or-exit-procedure", ""},
		"operating room, fetal":        {[]string{"3=OBOR^OR1", reason("Fetal surgery")}, "or-fetal-surgery", ""},
		"operating room, transfusion":  {[]string{"3=OBOR^OR1", reason("Intrauterine transfusion")}, "or-fetal-transfusion", ""},
		"recovery":                     {[]string{"3=PACU^1", "10=OBS"}, "pp-immediate-recovery-vag", ""},
		"recovery after cesarean":      {[]string{"3=PACU^1", "10=OBS", "DG1|1||O82^x^I10"}, "pp-csection", ""},
		"antepartum":                   {[]string{"3=ANTE^3"}, "ap-stable", ""},
		"antepartum, unstable":         {[]string{"3=ANTE^3", reason("Unstable")}, "ap-unstable", ""},
		"postpartum":                   {[]string{"3=MBU^312"}, "pp-couplet", ""},
		"postpartum, readmitted":       {[]string{"3=MBU^312", reason("Readmission")}, "pp-complications-stable", ""},
		"postpartum, waits to leave":   {[]string{"3=MBU^312", reason("Late discharge")}, "pp-hold", ""},
		"nursery":                      {[]string{"3=NBN^1", "2=N", "PID|1||MRN1^^^STMARY^MR||||20260304"}, "nb-stabilization", ""},
		"intermediate":                 {[]string{"3=SCN^1", "2=N"}, "nb-intermediate", ""},
		"NICU":                         {[]string{"3=NICU^1", "2=N"}, "nb-intensive", ""},
		"NICU, multisystem":            {[]string{"3=NICU^1", "2=N", reason("Multisystem failure")}, "nb-multisystem", ""},
		"NICU, critical":               {[]string{"3=NICU^1", "2=N", reason("Critical, on ECMO")}, "nb-critical", ""},
		"obstetric, outpatient":        {[]string{"3=OB^7", "2=O"}, "triage-initial", "assumed"},
		"obstetric, inpatient":         {[]string{"3=OB^7"}, "labor-standard", "assumed"},
		"unknown place":                {[]string{"3=W5^7", "10=OBS"}, "labor-standard", "assumed"},
		"the service tells":            {[]string{"3=W5^7", "10=ANTE"}, "ap-stable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			u, offset := hospital.New("stmary"), int64(-1)
			d.change = func(o *acuity.Observation) acuity.Change {
				offset++
				return u.Apply(o, offset)
			}
			a := d.post(t, "hl7", wrapped(message("A01", "092500-0600", row.words...)))
			if !a.Data.Applied {
				t.Fatal(a.raw)
			}
			var got []string
			chart := u.Chart()
			v := score.Judge(chart, acuity.At(now))
			for i := range v.Rooms {
				for _, f := range v.Rooms[i].Factors {
					if f.Factor.IsPrimary() {
						got = append(got, f.Factor.ID())
					}
				}
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
}
