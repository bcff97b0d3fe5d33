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

// SMS returns the alert as the text of a single SMS in a language, en or es. If the text is too long, SMS omits the
// axis, then truncates the unit's name, then omits the nurses. It never omits the level or the link.
//
// The text contains only characters of the GSM alphabet, because a single other character, such as á, í, ó or ú,
// would reduce the capacity of the SMS from 160 septets to 70 characters (UCS-2), and the alert would be split.
func (a *Alert) SMS(language string) string {
	t := textsIn(language)
	now, was := a.level(t)
	ack := ""
	if a.AckURL != "" {
		ack = " " + t.text("ack", "link", a.AckURL)
	}
	why := ""
	if text := a.why(t); text != "" {
		why = " " + text + "."
	}
	short, state := "", ""
	if a.driven() {
		state = " " + a.axis(t) + "."
		if text := a.short(t, "sms.short"); text != "" {
			short, state = " "+text+".", " "+text+": "+a.axis(t)+"."
		}
	}
	write := func(unit, state string) string {
		if unit != "" {
			unit = " " + unit
		}
		return gsm(now + was + unit + " " + a.At.Format(clock) + "." + why + state + ack)
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
	return cutTo(write("", "")) // this truncates only a link that is longer than the configuration allows
}

// TestSMS returns an SMS that tests whether a recipient receives SMS.
func TestSMS(language, unit string, at time.Time) string {
	a := Alert{Unit: unit}
	return cutTo(gsm(textsIn(language).text("test.sms", "unit", a.unit(), "time", at.Format(clock))))
}

func cutTo(s string) string {
	for r := []rune(s); ; r = r[:len(r)-1] {
		if septets(string(r)) <= maxSMS {
			return string(r)
		}
	}
}

// basic and extended together contain the default alphabet of GSM 03.38, except line breaks. A character in extended
// takes two septets.
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

// gsm converts a text to the GSM 03.38 alphabet. Letters lose accents that the alphabet lacks; any other unsupported
// character becomes a question mark.
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
