package event

import (
	"strconv"
	"strings"
)

// NameRoom returns the displayed name of a room: its label, or its number if the label could contain a person's name.
//
// Some sites put the patient's name into the label. There is no complete list of names, so NameRoom accepts only
// words that name rooms: a word of letters alone must be one of [placeWords], a single letter or, if the label has a
// digit, at most three capitals ("PP-12A", "MBU 4"). A room that is named after a flower is displayed by its number,
// because many flowers are first names. One gap remains: a short surname in capitals followed by a number, such as
// "LEE 4", has the same form as "HRU 4".
func NameRoom(id int32, label string) string {
	if IsLabel(label) {
		return label
	}
	return "Room " + strconv.Itoa(int(id))
}

// maxLabel is the maximum number of characters of a label that is displayed.
const maxLabel = 24

// IsLabel reports whether text may be displayed as a room label: it has at most maxLabel characters and does not look
// like a person's name.
func IsLabel(text string) bool {
	if text == "" || len(text) > maxLabel {
		return false
	}
	digits := strings.ContainsAny(text, "0123456789")
	known := digits
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" ./-&#()+", c) }) {
		letters, ascii := count(word)
		lower := strings.ToLower(word)
		switch {
		case !ascii:
			return false
		case letters < len(word): // a word with a digit is not a name
		case placeWords[lower]:
			known = true
		case letters == 1:
		case letters <= 3 && digits && strings.ToUpper(word) == word:
		default:
			return false
		}
	}
	return known // a label of single letters, such as initials, is not accepted
}

// count returns the number of letters in a word, and reports whether the word has only ASCII letters and digits.
func count(word string) (letters int, ascii bool) {
	for _, c := range word {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			letters++
		case c < '0' || c > '9':
			return 0, false
		}
	}
	return letters, true
}

// placeWords are the words allowed in room labels: units, kinds of rooms, furniture and directions. The list was
// compiled for this project. It excludes words that are common as names (Rose, Lily, Hope, Grace), except directions
// and colors.
var placeWords = func() map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(`
		room rooms rm bed bay chair crib cot bassinet isolette stretcher cubicle station space slot pod suite ste hall hallway
		corridor unit ward wing floor fl level tower building bldg annex area zone side
		labor labour delivery birth birthing maternity mother mom baby couplet family women womens obstetric obstetrics ob gyn obgyn
		ante antepartum antenatal perinatal post postpartum partum postnatal ap pp ld ldr ldrp ldrpr mbu rooming
		triage tri trg obt obtri obed assessment evaluation eval observation obs admission admit intake waiting wait holding hold
		overflow virtual temp temporary extra flex float surge discharge lounge lobby transfer
		recovery rec pacu pre preop postop op procedure proc operating theatre theater or ors section csection cesarean caesarean
		surgery surgical sdu hdu icu nicu scn nursery newborn nb well special care isolation iso high risk low mfm testing test nst
		ultrasound exam clinic er ed emergency tub water private semi double single
		north south east west upper lower main front back left right center centre inner outer new old
		red blue green yellow orange purple pink gold silver white black gray grey
		first second third fourth and of the to for no`) {
		all[word] = true
	}
	return all
}()
