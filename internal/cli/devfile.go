package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DefaultData is the data folder of svc dev.
const DefaultData = "./.svc-dev"

// DevFile is the file DIR/dev.json, in which svc dev describes itself to other programs.
type DevFile struct {
	BaseURL    string `json:"baseUrl"`
	HospitalID string `json:"hospitalId"`
	APIKey     string `json:"apiKey"`
	AdminKey   string `json:"adminKey"`
	Kafka      string `json:"kafka"`
	Redis      string `json:"redis"`
	MLLP       string `json:"mllp"`
}

// DevFilePath returns the path of dev.json in a data folder.
func DevFilePath(data string) string { return filepath.Join(data, "dev.json") }

// ReadDevFile reads the dev.json of a data folder.
func ReadDevFile(data string) (*DevFile, error) {
	content, err := os.ReadFile(DevFilePath(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there", DevFilePath(data))
	} else if err != nil {
		return nil, err
	}
	var d DevFile
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", DevFilePath(data), err)
	}
	return &d, nil
}

// answerWithin is how long a svc dev on this machine may take to accept a connection.
const answerWithin = 2 * time.Second

// RunningDev reads dev.json and checks that svc dev accepts connections at one of its addresses,
// host:port. The file stays when svc dev ends, so the file alone does not show that it runs.
func RunningDev(data string, address func(*DevFile) string) (*DevFile, error) {
	d, err := ReadDevFile(data)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", address(d), answerWithin) //nolint:noctx // it has its own limit
	if err != nil {
		return nil, fmt.Errorf("the one of %s does not run", DevFilePath(data))
	}
	return d, conn.Close()
}

// API returns the address of the API, host:port.
func (d *DevFile) API() string { return strings.TrimPrefix(d.BaseURL, "http://") }
