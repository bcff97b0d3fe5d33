package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"svc/internal/testkit/runtimes"
)

// partnersInJava returns the folder of the partners' Java programs.
func partnersInJava(t testing.TB) string {
	t.Helper()
	onlyInE2E(t)
	return runtimes.Maven(t, filepath.Join("testdata", "java"))
}

// TestHAPI sends visits with HAPI, the most widely used client for FHIR and HL7 v2, and checks what HAPI reads from
// the responses.
func TestHAPI(t *testing.T) {
	t.Parallel()
	folder := partnersInJava(t)
	dev := startDev(t, t.TempDir(), "--ephemeral")
	host, port, err := net.SplitHostPort(dev.MLLP)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"FHIR": {[]string{dev.BaseURL + "/api/ingest/fhir", dev.APIKey}, `transaction-response, 200 OK, 200 OK
batch-response, 200 OK, 200 OK, 422 Unprocessable Entity error required required
key: 401 error login unauthorized
text: 400 error invalid json
path: 501 error not-supported invalid_request
`},
		"HL7": {[]string{host, port}, `ACK 2.5.1 AA HAPI1
ACK 2.5.1 AA HAPI1
ACK 2.5.1 AE HAPI2 PV1-19 101
ACK 2.5.1 CA HAPI3
`},
	} {
		t.Run(name, func(t *testing.T) {
			classes := filepath.Join(folder, "target", "classes") + string(os.PathListSeparator) + filepath.Join(folder, "target", "lib", "*")
			cmd := exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-cp", classes, name}, test.args...)...)
			cmd.Dir = t.TempDir() // HAPI stores control ids in a file in the working folder
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != test.want {
				t.Errorf("%v\n%s\nwant\n%s", err, out, test.want)
			}
		})
	}
	// The patients that the clients sent are in the right rooms.
	rooms := map[string]string{}
	for _, r := range newPartner(dev.BaseURL, dev.HospitalID, dev.APIKey).unitState(t).Rooms {
		rooms[r.RoomLabel] = r.Status
	}
	if rooms["LDR 4"] != "occupied" || rooms["LDR 7"] != "occupied" {
		t.Errorf("rooms %v", rooms)
	}
}
