package alert

import (
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxSMS is the capacity of one SMS in septets of the GSM 03.38 alphabet. A longer text becomes two SMS, which may
// arrive separately or not at all.
const maxSMS = 160

// SMS returns the alert as the text of one SMS. If it is too long, SMS omits the axis, then truncates the name of the
// unit, then omits the nurses. It never omits level and link.
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
	short, state := "", ""
	if a.driven() {
		state = " " + a.axis() + "."
		if said := a.short(); said != "" {
			short, state = " Short "+said+".", " Short "+said+": "+a.axis()+"."
		}
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
	return cutTo(write("", "")) // only a link that is longer than the configuration allows is truncated
}

// TestSMS returns the SMS that verifies that a recipient receives SMS.
func TestSMS(unit string, at time.Time) string {
	a := Alert{Unit: unit}
	return cutTo(gsm("TEST " + a.unit() + " " + at.Format("15:04") + ". This number receives alerts for the unit. No action is needed."))
}

func cutTo(s string) string {
	for r := []rune(s); ; r = r[:len(r)-1] {
		if septets(string(r)) <= maxSMS {
			return string(r)
		}
	}
}

// basic and extended are the default alphabet of GSM 03.38 without its line breaks.
// An extended character takes two septets.
const (
	basic = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§" +
		"¿abcdefghijklmnopqrstuvwxyzäöñüà"
	extended = "^{}\\[~]|€"
)

// septets returns the length of a text in septets of the GSM 03.38 alphabet.
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

// gsm converts a text to the GSM 03.38 alphabet. Letters lose accents that the alphabet does not have; other
// characters become question marks.
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
