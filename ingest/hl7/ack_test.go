package hl7_test

import (
	"strings"
	"testing"

	"svc/ingest/hl7"
)

func answer(t *testing.T, raw []byte) string {
	t.Helper()
	var m hl7.Message
	if err := m.Scan(raw, hl7.Charset{}); err != nil {
		t.Fatal(err)
	}
	_, fault := m.Facts(options)
	return string(m.Ack(nil, hl7.Acknowledgment{Fault: fault, Hospital: "stmary", At: received.Time().In(chicago), ID: "A1"}))
}

func TestAck(t *testing.T) {
	const head = `MSH|^~\&|SVC|STMARY|EPIC|STMARY|20260304093000-0600||ACK^A01^ACK|A1|P|2.5.1`
	for name, test := range map[string]struct {
		msh  string
		want string
	}{
		"accepted":            {msh, head + "\rMSA|AA|M1\r"},
		"no receiver":         {strings.Replace(msh, "|SVC|STMARY|", "|||", 1), strings.Replace(head, "SVC|STMARY", "SVC|stmary", 1) + "\rMSA|AA|M1\r"},
		"their name for us":   {strings.Replace(msh, "|SVC|STMARY|", "|ACUITY^1.2^ISO|S\\T\\M|", 1), strings.Replace(head, "SVC|STMARY", `ACUITY^1.2^ISO|S\T\M`, 1) + "\rMSA|AA|M1\r"},
		"control id exactly":  {strings.Replace(msh, "|M1|", `| M\T\1 ^x|`, 1), head + "\rMSA|AA| M\\T\\1 ^x\r"},
		"refused type":        {strings.Replace(msh, "ADT^A01^ADT_A01", "ORU^R01", 1), strings.Replace(head, "ACK^A01", "ACK^R01", 1) + "\rMSA|AR|M1\rERR||MSH^1^9|200^Unsupported message type^HL70357|E\r"},
		"no message type":     {strings.Replace(msh, "ADT^A01^ADT_A01", "", 1), strings.Replace(head, "ACK^A01^ACK", "ACK", 1) + "\rMSA|AR|M1\rERR||MSH^1^9|200^Unsupported message type^HL70357|E\r"},
		"no control id":       {strings.Replace(msh, "|M1|", "||", 1), head + "\rMSA|AE|\rERR||MSH^1^10|101^Required field missing^HL70357|E\r"},
		"no ERR before 2.5":   {strings.NewReplacer("|M1|", "||", "2.5.1", "2.3.1").Replace(msh), strings.Replace(head, "2.5.1", "2.3.1", 1) + "\rMSA|AE|\r"},
		"ERR in 2.10":         {strings.NewReplacer("|M1|", "||", "2.5.1", "2.10").Replace(msh), strings.Replace(head, "2.5.1", "2.10", 1) + "\rMSA|AE|\rERR||MSH^1^10|101^Required field missing^HL70357|E\r"},
		"UTF-8 is confirmed":  {msh + "||||||UNICODE UTF-8", head + "||||||UNICODE UTF-8\rMSA|AA|M1\r"},
		"Latin-1 is not":      {msh + "||||||8859/1", head + "\rMSA|AA|M1\r"},
		"test system":         {strings.Replace(msh, "|P|", "|T|", 1), strings.Replace(head, "|P|", "|T|", 1) + "\rMSA|AA|M1\r"},
		"enhanced, always":    {msh + "|||AL|NE", head + "\rMSA|CA|M1\r"},
		"enhanced, never":     {msh + "|||NE|AL", ""},
		"enhanced, blank":     {msh + "||||AL", ""},
		"original, no NE":     {msh + "||||NE", head + "\rMSA|AA|M1\r"},
		"original, both null": {msh + `|||""|""`, head + "\rMSA|AA|M1\r"},
		"no version":          {strings.Replace(msh, "|2.5.1", "|", 1), head + "\rMSA|AA|M1\r"},
		"null version":        {strings.Replace(msh, "|2.5.1", `|""`, 1), head + "\rMSA|AA|M1\r"},
		"no field of version": {strings.Replace(msh, "|2.5.1", "", 1), head + "\rMSA|AA|M1\r"},
		"refused, no version": {
			strings.NewReplacer("|M1|", "||", "|2.5.1", "|").Replace(msh),
			head + "\rMSA|AE|\rERR||MSH^1^10|101^Required field missing^HL70357|E\r",
		},
		"enhanced, on error":   {msh + "|||ER", ""},
		"enhanced, on success": {msh + "|||SU", head + "\rMSA|CA|M1\r"},
		"enhanced, refused": {
			strings.Replace(msh, "|M1|", "||", 1) + "|||ER",
			head + "\rMSA|CE|\rERR||MSH^1^10|101^Required field missing^HL70357|E\r",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answer(t, segments(test.msh, evn, pid, pv1)); got != test.want {
				t.Errorf("got\n%q\nwant\n%q", got, test.want)
			}
		})
	}
	t.Run("sender's delimiters", func(t *testing.T) {
		swap := strings.NewReplacer("|", "!", "^", "*", "~", "+", `\`, "?", "&", "%")
		got := answer(t, []byte(swap.Replace(string(segments(strings.Replace(msh, "|M1|", "||", 1), evn, pid, pv1)))))
		want := swap.Replace(head + "\rMSA|AE|\rERR||MSH^1^10|101^Required field missing^HL70357|E\r")
		if got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	})
	for name, unused := range map[string]string{"escape": `^~ &`, "subcomponent": `^~\ `, "repetition": `^ \&`, "escape, the last": `^~ `} {
		t.Run("no "+name, func(t *testing.T) {
			got := answer(t, segments(strings.Replace(msh, `^~\&`, unused, 1), evn, pid, strings.Replace(pv1, `\T\`, "", 1)))
			if want := strings.Replace(head, `^~\&`, unused, 1) + "\rMSA|AA|M1\r"; got != want {
				t.Errorf("got\n%q\nwant\n%q", got, want)
			}
		})
	}
	t.Run("original mode on demand", func(t *testing.T) {
		var m hl7.Message
		if err := m.Scan(segments(msh+"|||AL"), hl7.Charset{}); err != nil {
			t.Fatal(err)
		}
		if code, send := m.Code(hl7.Acknowledgment{Sender: hl7.Sender{OriginalMode: true}}); code != hl7.AA || !send {
			t.Error(code, send)
		}
	})
}

func TestBatch(t *testing.T) {
	message := string(segments(msh, evn, pid, pv1))
	for name, test := range map[string]struct {
		body   string
		count  int
		framed bool
		warn   int
	}{
		"one":               {message, 1, false, 0},
		"several":           {message + message + message, 3, false, 0},
		"batch":             {"FHS|^~\\&\rBHS|^~\\&\r" + message + message + "BTS|2\rFTS|1\r", 2, true, 0},
		"wrong count":       {"BHS|^~\\&\r" + message + message + "BTS|3\r", 2, true, 1},
		"no count":          {"BHS|^~\\&\r" + message + "BTS\r", 1, true, 0},
		"two batches":       {"BHS|^~\\&\r" + message + "BTS|1\rBHS|^~\\&\r" + message + message + "BTS|2\r", 3, true, 0},
		"MLLP frames":       {"\x0b" + message + "\x1c\r\x0b" + message + "\x1c\r", 2, false, 0},
		"MSH in a text":     {message + "NTE|1||say\rMSH is short for header\r", 1, false, 0},
		"LF":                {strings.ReplaceAll("BHS|^~\\&\r"+message+message+"BTS|2\r", "\r", "\n"), 2, true, 0},
		"unusable and good": {"MSH|^^|x\r" + message, 2, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hl7.Split([]byte(test.body), hl7.Charset{})
			if err != nil || len(b.Messages) != test.count || b.Framed != test.framed || len(b.Warnings) != test.warn {
				t.Errorf("%d messages, framed %v, warnings %v, %v", len(b.Messages), b.Framed, b.Warnings, err)
			}
			for _, m := range b.Messages {
				if !strings.HasPrefix(string(m), "MSH|") {
					t.Errorf("%q", m)
				}
			}
		})
	}
	for _, none := range []string{"", "BHS|^~\\&\rBTS|0\r", "hello"} {
		if _, err := hl7.Split([]byte(none), hl7.Charset{}); err != hl7.ErrNoHeader { //nolint:errorlint // returned unwrapped
			t.Errorf("%q: %v", none, err)
		}
	}
}

func TestAppendBatch(t *testing.T) {
	a := hl7.Acknowledgment{Hospital: "stmary", At: received.Time().In(chicago), ID: "B1", Fault: &hl7.Fault{Code: hl7.AE, Condition: 100, Segment: "MSH"}}
	b, err := hl7.Split([]byte("BHS|^~\\&|a|b|c|d|e||||77\r"+msh), hl7.Charset{})
	if err != nil {
		t.Fatal(err)
	}
	got := string(hl7.AppendBatch(nil, b, a, [][]byte{[]byte("one\r"), nil, hl7.AppendError(nil, a, "")}))
	want := "BHS|^~\\&|c|d|a|b|20260304093000-0600||||B1|77\rone\r" +
		"MSH|^~\\&|SVC|stmary|||20260304093000-0600||ACK|B1|P|2.5.1\rMSA|AE|\rERR||MSH^1|100^Segment sequence error^HL70357|E\rBTS|2\r"
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
