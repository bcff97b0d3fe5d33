package integrations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// apiLetter is a record that could not be applied, as the API tells it.
type apiLetter struct {
	ID, Topic, Reason string
	SchemaID          *int32
	At, RetriedAt     *time.Time
}

// lettersPage is the records that could not be applied.
type lettersPage struct {
	adminPage
	Reasons []reasonRow
	Reason  string // of the records shown; "": any
	Rows    []letterRow
	Open    int // number of the records shown that can be tried again
	Pager   pager
}

type reasonRow struct {
	Name, Path string
	Count      int
	Current    bool
}

type letterRow struct {
	ID, Topic, Reason, Schema, At, Retried string
}

func showLetters(d feedsRequest) { d.showLetters(http.StatusOK, nil) }

// readLetters returns all records of a hospital that could not be applied, newest first. It
// returns false after it has answered with a fault.
func (d feedsRequest) readLetters() (all []apiLetter, ok bool) {
	for cursor := ""; ; {
		var part struct {
			Items      []apiLetter
			NextCursor *string
		}
		path := lettersAPI + "?limit=200"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		if _, ok := d.read(path, &part); !ok {
			return nil, false
		}
		all = append(all, part.Items...)
		if part.NextCursor == nil {
			return all, true
		}
		cursor = *part.NextCursor
	}
}

func (d feedsRequest) nameReason(code string) string {
	return d.Or("letters.reason."+strings.ReplaceAll(code, "_", ""), code)
}

func (d feedsRequest) showLetters(status int, refused []string) {
	all, ok := d.readLetters()
	if !ok {
		return
	}
	out := lettersPage{adminPage: d.newPage("feeds.letters"), Reason: d.r.URL.Query().Get("reason")}
	out.Refused = refused
	var reasons []string
	counts := map[string]int{}
	for i := range all {
		if all[i].RetriedAt != nil {
			continue
		}
		if reason := all[i].Reason; counts[reason] == 0 {
			reasons = append(reasons, reason)
		}
		counts[all[i].Reason]++
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		out.Reasons = append(out.Reasons, reasonRow{d.nameReason(reason), d.pathTo("letters") + "?reason=" + url.QueryEscape(reason), counts[reason], reason == out.Reason})
	}
	if out.Reason != "" {
		all = slices.DeleteFunc(all, func(l apiLetter) bool { return l.Reason != out.Reason })
	}
	first, last, p := d.cutToPage(len(all))
	out.Pager = p
	for i := range all[first:last] {
		l := &all[first+i]
		row := letterRow{ID: l.ID, Topic: l.Topic, Reason: d.nameReason(l.Reason), At: d.formatTime(l.At), Retried: d.formatTime(l.RetriedAt)}
		if l.SchemaID != nil {
			row.Schema = strconv.Itoa(int(*l.SchemaID))
		}
		if l.RetriedAt == nil {
			out.Open++
		}
		out.Rows = append(out.Rows, row)
	}
	d.show(status, "feeds.letters", &out)
}

func retryLetter(d feedsRequest) {
	d.retryRecords([]string{d.pathID()})
}

// retryLetters tries all records again that the page showed.
func retryLetters(d feedsRequest) {
	ids := d.r.PostForm["id"]
	d.retryRecords(ids[:min(len(ids), rowsAPage)])
}

// retryRecords has the API apply records that could not be applied before. A record that
// this release cannot read either stays on the list, and the page says why.
func (d feedsRequest) retryRecords(ids []string) {
	var refusals []string
	taken := 0
	for _, id := range ids {
		refused, ok := d.send(http.MethodPost, lettersAPI+"/"+url.PathEscape(id)+"/retry", "", nil, nil)
		switch {
		case !ok:
			return
		case refused == nil:
			taken++
			continue
		}
		var why strings.Builder
		why.WriteString(refused.Message)
		for _, detail := range refused.Details {
			why.WriteString(" (" + d.nameReason(detail.Rule) + ")")
		}
		refusals = append(refusals, d.T("letters.not", "id", id, "why", why.String()))
	}
	if len(refusals) > 0 {
		d.showLetters(http.StatusUnprocessableEntity, refusals)
		return
	}
	d.waitUntil(func() bool { return d.areRetried(ids) })
	d.leaveNotice(d.pathTo("letters"), "letters.done", "n", taken)
}

// areRetried reports whether the list says of all records that they were applied.
func (d feedsRequest) areRetried(ids []string) bool {
	for _, id := range ids {
		var l apiLetter
		if d.fetch(lettersAPI+"/"+url.PathEscape(id), &l) != nil || l.RetriedAt == nil {
			return false
		}
	}
	return true
}
