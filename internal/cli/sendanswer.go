package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// sent is the answer to one payload.
type sent struct {
	code    string // AA, AE …, or an HTTP status
	refused bool
	why     string // paths and rules of a refusal, as the server says them: never values
	took    time.Duration
}

func (s sent) String() string {
	if s.why == "" {
		return s.code
	}
	return s.code + ": " + s.why
}

// problemMessage returns the message of an error answer. It contains no value of the request.
func problemMessage(body []byte) string {
	var answer struct{ Error refusal }
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		return "no answer of svc"
	}
	return answer.Error.Error()
}

// fhirOutcome looks for refused resources beside accepted ones.
func fhirOutcome(body []byte) sent {
	var answer struct {
		Data struct {
			Resources struct{ Rejected int }
			Issues    []struct{ Severity, Code, Expression string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return sent{code: "HTTP 200", refused: true, why: "no answer of svc"}
	}
	if answer.Data.Resources.Rejected == 0 {
		return sent{code: "HTTP 200"}
	}
	var broken []string
	for _, i := range answer.Data.Issues {
		if i.Severity == "error" {
			broken = append(broken, i.Expression+" "+i.Code)
		}
	}
	return sent{code: "HTTP 200 with rejected resources", refused: true, why: strings.Join(broken, "; ")}
}

// ackOutcome reads the code of an acknowledgment (MSA-1), and kind and place of its errors
// (ERR-3, ERR-2).
func ackOutcome(ack []byte) sent {
	if len(bytes.TrimSpace(ack)) == 0 {
		return sent{code: "no answer asked for"}
	}
	got := sent{code: "no acknowledgment", refused: true}
	var broken []string
	for segment := range strings.SplitSeq(string(ack), "\r") {
		if len(segment) < 5 {
			continue
		}
		fields := strings.Split(segment, segment[3:4])
		switch fields[0] {
		case "MSA":
			got.code = fields[1]
			got.refused = got.code != "AA" && got.code != "CA"
		case "ERR":
			if len(fields) > 3 {
				broken = append(broken, fields[2]+" "+fields[3])
			}
		}
	}
	got.why = strings.Join(broken, "; ")
	return got
}
