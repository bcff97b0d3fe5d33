package codes

import "strings"

// maxWords is the maximum number of words that are read from a display name. The words that are kept from a value
// must be fewer.
const maxWords = 24

// vocabulary maps the known words of values to the words that are kept; "" drops a known word that no rule needs.
// Unknown words are also dropped; see valueReader.
var vocabulary = keptWords([][2]string{
	// Category of a fetal heart rate tracing (ACOG three-tier system).
	{"category", "category cat categories"},
	{"i", "i 1 one"},
	{"ii", "ii 2 two"},
	{"iii", "iii 3 three"},
	{"category i", "cati categoryi category1 cat1"},
	{"category ii", "catii categoryii category2 cat2"},
	{"category iii", "catiii categoryiii category3 cat3"},
	{"normal", "normal"},
	{"abnormal", "abnormal"},
	{"indeterminate", "indeterminate"},
	{"", `fhr fht efm fetal heart rate tracing tracings strip pattern interpretation class overall acog nichd
		tier moderate minimal marked variability baseline late variable early prolonged recurrent
		intermittent repetitive deceleration decelerations decel decels acceleration accelerations accel
		accels bradycardia tachycardia sinusoidal`},

	// Results of tests.
	{"positive", "positive pos"},
	{"negative", "negative neg"},
	{"detected", "detected seen found"},
	{"not detected", "undetected nondetected notdetected nondetectable"},
	{"present", "present"},
	{"absent", "absent"},
	{"isolated", "isolated"},
	{"growth", "growth"},
	{"reactive", "reactive"},
	{"not reactive", "nonreactive"},
	{"", `presumptive confirmed result culture pcr dna rna naat gbs group b beta strep streptococcus
		streptococci agalactiae screen test evidence organism organisms sign signs hemolytic haemolytic
		isolate isolates streptococcal spp species any longer in on/off`},

	// Yes and no.
	{"yes", "yes y true"},
	{"on", "on"},
	{"active", "active ongoing running started reported decreased pushing"},
	{"no", "no n false never without denies denied neither nor lacks lacking lack w/o free"},
	{"not", "not non"},
	{"none", "none nil nothing"},
	{"off", `off stopped discontinued ended completed resolved inactive weaned removed cleared gone d/c dc
		discontinue stop`},

	// Doubt: a value with one of these words does not count.
	{"equivocal", `equivocal inconclusive invalid pending possible possibly probable probably maybe may might could
		likely unlikely suspect suspected suspicious suspicion questionable question query rule ruled
		exclude excluded excluding excludes cannot cant unable uncertain unclear unsure unknown undetermined
		unconfirmed unverified awaiting await borderline versus vs if unless until risk concern concerning
		potential potentially approaching almost nearly rather instead error erroneous mistake wrong
		incorrect disregard cancelled canceled contaminated contaminant insufficient rejected unsatisfactory
		except differential ? r/o n/a na watch monitor`},

	// Oxygen.
	{"room", "room"},
	{"air", "air"},
	{"room air", "ra roomair"},
	{"nasal", "nasal"},
	{"cannula", "cannula"},
	{"nasal cannula", "nc hfnc"},
	{"mask", "mask facemask rebreather nonrebreather nrb nrbm venturi"},
	{"cpap", "cpap"},
	{"bipap", "bipap"},
	{"ventilator", "ventilator"},
	{"", "face high flow highflow simple oxygen o2 supplemental therapy tube"},

	// Connecting words.
	{"", "a an and at by for is of the via with to per patient this time now or"},
})

// keptWords returns a map from each known word to the text that replaces it. A row consists of that text and the words
// that it replaces.
func keptWords(rows [][2]string) map[string]string {
	kept := map[string]string{}
	for _, row := range rows {
		for word := range strings.FieldsSeq(row[1]) {
			kept[word] = row[0]
		}
	}
	return kept
}

// onlyOxygenDevice reports whether text names oxygen delivery devices and nothing else.
func onlyOxygenDevice(text string) bool {
	words, ok := normalWords(text)
	if !ok {
		return false
	}
	for w := range strings.SplitSeq(words, " ") {
		switch w {
		case "nasal", "cannula", "mask", "cpap", "bipap", "ventilator", "on", "":
		default:
			return false
		}
	}
	return true
}
