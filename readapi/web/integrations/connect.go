package integrations

import (
	"net/http"
	"strings"

	"svc/internal/httpapi/contract"
)

// connectPage tells an engineer how to connect each feed.
type connectPage struct {
	adminPage
	Feeds []connectFeed
	MLLP  string // says how to send by MLLP
}

// connectFeed is the address, the headers and a sample message of one feed. The API takes
// the sample as it is shown.
type connectFeed struct {
	ID, Name, Scope string
	Address, Header string
	Type, Sample    string
	Curl            string
}

const (
	textHL7  = "text/plain"
	mllpFlag = "svc ingest --mllp 'addr=:2575,key=key_0123456789abcdef'"
)

func showConnect(d feedsRequest) {
	out := connectPage{adminPage: d.newPage("feeds.connect"), MLLP: mllpFlag}
	address := d.apiAddress()
	for i := range d.Administration.Operations {
		o := &d.Administration.Operations[i]
		name, feed := strings.CutPrefix(o.Path, "/api/ingest/")
		if feed && o.Method == http.MethodPost && !strings.Contains(name, "/") && len(o.Bodies) > 0 && len(o.Bodies[0].Examples) > 0 {
			out.Feeds = append(out.Feeds, d.newConnectFeed(address, name, o))
		}
	}
	d.show(http.StatusOK, "feeds.connect", &out)
}

func (d feedsRequest) newConnectFeed(address, name string, o *contract.Operation) connectFeed {
	b := &o.Bodies[0]
	sample := b.Examples[0].Text
	if b.Type == textHL7 { // one segment a line: a browser shows it so, and the API reads it so
		sample = strings.TrimSuffix(strings.ReplaceAll(sample, "\r", "\n"), "\n")
	}
	f := connectFeed{
		ID: name, Name: d.Or("feed."+name, name), Scope: string(o.Scope), Type: "Content-Type: " + b.Type, Sample: sample,
		Address: o.Method + " " + address + o.Path, Header: "Authorization: Bearer $KEY",
	}
	f.Curl = "curl " + quoteWord(address+o.Path) + ` -H "` + f.Header + `" -H ` + quoteWord(f.Type) + " --data-binary " + quoteWord(sample)
	return f
}
