package integrations

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const deadLettersAPI = "/api/admin/dead-letters"

// apiDeadLetter is a dead letter in an API response.
type apiDeadLetter struct {
	ID, Topic, Reason string
	SchemaID          *int32
	At, RetriedAt     *time.Time
}

// deadLettersPage shows the records that could not be applied.
type deadLettersPage struct {
	adminPage
	Reasons []reasonRow
	Reason  string // if set, only records with this reason are displayed
	Rows    []deadLetterRow
	Open    int // number of displayed records that can be retried
}

type reasonRow struct {
	Name, Path string
	Count      int
	Current    bool
}

type deadLetterRow struct {
	ID, Topic, Reason, Schema, At, Retried string
}

// readDeadLetters returns all records of a hospital that could not be applied, newest first. If it returns false, it
// has sent an error response.
func readDeadLetters(d *adminRequest) (all []apiDeadLetter, ok bool) {
	for cursor := ""; ; {
		var part struct {
			Items      []apiDeadLetter
			NextCursor *string
		}
		path := deadLettersAPI + "?limit=200"
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

func nameReason(d *adminRequest, code string) string {
	return d.Or("letters.reason."+strings.ReplaceAll(code, "_", ""), code)
}

func showDeadLetters(d *adminRequest) { listDeadLetters(d, nil) }

// listDeadLetters shows the dead letters of the administrator's hospital. refused contains the API's reasons for
// refusing retries.
func listDeadLetters(d *adminRequest, refused []string) {
	all, ok := readDeadLetters(d)
	if !ok {
		return
	}
	out := deadLettersPage{adminPage: d.newPage("feeds.letters"), Reason: d.r.URL.Query().Get("reason")}
	out.Refused = refused
	counts := map[string]int{}
	for i := range all {
		if all[i].RetriedAt == nil {
			counts[all[i].Reason]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		path := d.pathTo("letters") + "?reason=" + url.QueryEscape(reason)
		out.Reasons = append(out.Reasons, reasonRow{nameReason(d, reason), path, counts[reason], reason == out.Reason})
	}
	if out.Reason != "" {
		all = slices.DeleteFunc(all, func(l apiDeadLetter) bool { return l.Reason != out.Reason })
	}
	out.Rows = newRows(d, &out.adminPage, all, newDeadLetterRow)
	for _, row := range out.Rows {
		if row.Retried == "" {
			out.Open++
		}
	}
	d.show("feeds.letters", &out)
}

func newDeadLetterRow(d *adminRequest, l *apiDeadLetter) deadLetterRow {
	row := deadLetterRow{ID: l.ID, Topic: l.Topic, Reason: nameReason(d, l.Reason), At: d.formatTime(l.At), Retried: d.formatTime(l.RetriedAt)}
	if l.SchemaID != nil {
		row.Schema = strconv.Itoa(int(*l.SchemaID))
	}
	return row
}

func retryDeadLetter(d *adminRequest) {
	retryRecords(d, []string{d.pathID()})
}

// retryDeadLetters retries all records that the page displayed.
func retryDeadLetters(d *adminRequest) {
	ids := d.r.PostForm["id"]
	retryRecords(d, ids[:min(len(ids), rowsAPage)])
}

// retryRecords retries dead letters through the API. A record that this release cannot read remains on the list, and
// the page shows the reason.
func retryRecords(d *adminRequest, ids []string) {
	var refusals []string
	taken := 0
	for _, id := range ids {
		refused, ok := d.send(http.MethodPost, deadLettersAPI+"/"+url.PathEscape(id)+"/retry", "", nil, nil)
		switch {
		case !ok:
			return
		case refused == nil:
			taken++
			continue
		}
		why := d.ExplainRefusal(refused.Code, refused.Message)
		if len(refused.Details) > 0 {
			why = d.ExplainRule(refused.Details[0].Rule)
		}
		refusals = append(refusals, d.T("letters.not", "id", id, "why", why))
	}
	if len(refusals) > 0 {
		d.status = http.StatusUnprocessableEntity
		listDeadLetters(d, refusals)
		return
	}
	d.waitUntil(func() bool { return areRetried(d, ids) })
	d.leaveNotice(d.pathTo("letters"), "letters.done", "n", taken)
}

// areRetried reports whether the list marks all records as retried.
func areRetried(d *adminRequest, ids []string) bool {
	for _, id := range ids {
		var l apiDeadLetter
		if d.fetch(deadLettersAPI+"/"+url.PathEscape(id), &l) != nil || l.RetriedAt == nil {
			return false
		}
	}
	return true
}
