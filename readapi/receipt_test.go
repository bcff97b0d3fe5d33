package readapi_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/outbound"
	"svc/readapi"
)

func TestReceipts(t *testing.T) {
	clock := func() time.Time { return time.Unix(1, 0) }
	shell := &httpapi.Shell{Now: clock, Lookup: access.NewRegister(clock).Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	for name, tt := range map[string]struct {
		body   string
		status int
		orders int
	}{
		"failed":    {"failed", 204, 1},
		"on way":    {"sent", 204, 0},
		"forged":    {"forged", 401, 0},
		"nonsense":  {"nonsense", 400, 0},
		"too large": {strings.Repeat("x", 17<<10), 413, 0},
		"log away":  {"away", 503, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := shell.Router()
			orders := 0
			read := func(_ *http.Request, body []byte) (c outbound.Command, forged bool, err error) {
				switch string(body) {
				case "failed", "away":
					c.Receipt, c.Delivery = outbound.Failed, string(body)
				case "forged":
					return c, true, nil
				case "nonsense":
					return c, false, io.ErrUnexpectedEOF
				}
				return c, false, nil
			}
			order := func(_ context.Context, c *outbound.Command) error {
				if c.Delivery == "away" {
					return errAway
				}
				if c.Verb != outbound.VerbReceipt || c.ID == "" || c.By != "provider" {
					t.Errorf("command %+v", c)
				}
				orders++
				return nil
			}
			readapi.MountReceipts(r, readapi.Receipts{Shell: shell, HTTP: read, Twilio: read, Order: order})
			for _, path := range []string{"/api/public/sms/http?d=dlv_1", "/api/public/sms/twilio?d=dlv_1"} {
				w := httptest.NewRecorder()
				r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(tt.body)))
				if w.Code != tt.status || orders != tt.orders {
					t.Errorf("%s: status %d, %d orders", path, w.Code, orders)
				}
				orders = 0
			}
			bare := shell.Router()
			readapi.MountReceipts(bare, readapi.Receipts{Shell: shell, Order: order})
			for _, path := range []string{"/api/public/sms/http?d=dlv_1", "/api/public/sms/twilio?d=dlv_1"} {
				w := httptest.NewRecorder()
				bare.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(tt.body)))
				if w.Code != http.StatusNotFound || orders != 0 {
					t.Errorf("%s without a gateway: status %d, %d orders", path, w.Code, orders)
				}
			}
		})
	}
}

// TestReceiptsThatAreNotRead: the response to a receipt that arrives too slowly or incompletely allows the gateway to
// send the receipt again.
func TestReceiptsThatAreNotRead(t *testing.T) {
	shell := &httpapi.Shell{Now: time.Now, Lookup: access.NewRegister(time.Now).Lookup, DocsURL: "/docs", Log: slog.New(slog.DiscardHandler)}
	r := shell.Router()
	readapi.MountReceipts(r, readapi.Receipts{Shell: shell, HTTP: func(*http.Request, []byte) (c outbound.Command, forged bool, err error) {
		t.Error("read")
		return c, false, nil
	}})
	for fault, want := range map[error]int{os.ErrDeadlineExceeded: 408, io.ErrUnexpectedEOF: 400} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/public/sms/http", iotest.ErrReader(fault)))
		if w.Code != want {
			t.Errorf("%v: %d, want %d", fault, w.Code, want)
		}
	}
}
