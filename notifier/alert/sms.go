package alert

import (
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxSMS is what one SMS holds in the alphabet of GSM 03.38, in its units of
// seven bits. A longer one is two, which arrive apart or not at all.
const maxSMS = 160

// SMS is the alert in one SMS:
//
//	ORANGE (was YELLOW) L&D 14:05. Short 2 nurses: Nurses short of ratio. Ack https://…/a/7KQ2M9XW3PTD
//
// Where it does not fit the axis goes, then the name of the unit is cut, then the
// nurses go: the level and the link stay.
func (a *Alert) SMS() string {
	now, was := a.level()
	ack := ""
	if a.AckURL != "" {
		ack = " Ack " + a.AckURL
	}
	why := ""
	if said := a.why(); said != "" {
		why = " " + said + "."
	}
	short, axis := "", ""
	if a.driven() {
		axis = a.axis()
		if said := a.short(); said != "" {
			short, axis = " Short "+said+".", ": "+axis
		} else {
			axis = " " + axis + "."
		}
	}
	state := short
	switch {
	case short != "":
		state = strings.TrimSuffix(short, ".") + axis + "."
	case axis != "":
		state = axis
	}
	write := func(unit, state string) string {
		if unit != "" {
			unit = " " + unit
		}
		return gsm(now + was + unit + " " + a.At.Format("15:04") + "." + why + state + ack)
	}
	unit := a.unit()
	if full := write(unit, state); septets(full) <= maxSMS {
		return full
	}
	for name := []rune(unit); len(name) > 0; name = name[:len(name)-1] {
		if cut := write(strings.TrimSpace(string(name)), short); septets(cut) <= maxSMS {
			return cut
		}
	}
	if cut := write("", short); septets(cut) <= maxSMS {
		return cut
	}
	return cutTo(write("", "")) // a link that is longer than the configuration allows is cut
}

// TestSMS is what a recipient gets to see that SMS arrive.
func TestSMS(unit string, at time.Time) string {
	a := Alert{Unit: unit}
	return cutTo(gsm("TEST " + a.unit() + " " + at.Format("15:04") + ". Alerts of this unit reach you by SMS."))
}

func cutTo(s string) string {
	for r := []rune(s); ; r = r[:len(r)-1] {
		if septets(string(r)) <= maxSMS {
			return string(r)
		}
	}
}

// basic and extended are the default alphabet of GSM 03.38 without its line
// breaks; an extended character takes two units.
const (
	basic = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§" +
		"¿abcdefghijklmnopqrstuvwxyzäöñüà"
	extended = "^{}\\[~]|€"
)

// septets is how long a text of the alphabet is.
func septets(s string) int {
	n := 0
	for _, c := range s {
		n++
		if strings.ContainsRune(extended, c) {
			n++
		}
	}
	return n
}

// gsm writes a text in the alphabet: letters lose accents that it has not, what
// has no letter becomes a question mark.
func gsm(s string) string {
	var b strings.Builder
	for _, c := range norm.NFC.String(s) {
		if strings.ContainsRune(basic, c) || strings.ContainsRune(extended, c) {
			b.WriteRune(c)
			continue
		}
		plain := '?'
		for _, part := range norm.NFD.String(string(c)) {
			if !unicode.Is(unicode.Mn, part) && strings.ContainsRune(basic, part) {
				plain = part
			}
			break
		}
		b.WriteRune(plain)
	}
	return b.String()
}
