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
	Reason  string // only of this one; "": of all
	Rows    []letterRow
	Open    int // of those shown, that can be tried again
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

func showLetters(on *adminRequest) { feedsRequest{localRequest{on}}.showLetters(http.StatusOK, nil) }

// letters returns all records of a hospital that could not be applied, newest first; false:
// the page has answered.
func (d feedsRequest) letters() (all []apiLetter, ok bool) {
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

func (d feedsRequest) reasonOf(code string) string {
	return d.Or("letters.reason."+strings.ReplaceAll(code, "_", ""), code)
}

func (d feedsRequest) showLetters(status int, refused []string) {
	all, ok := d.letters()
	if !ok {
		return
	}
	out := lettersPage{adminPage: d.page("feeds.letters"), Reason: d.r.URL.Query().Get("reason")}
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
		out.Reasons = append(out.Reasons, reasonRow{d.reasonOf(reason), d.at("letters") + "?reason=" + url.QueryEscape(reason), counts[reason], reason == out.Reason})
	}
	if out.Reason != "" {
		all = slices.DeleteFunc(all, func(l apiLetter) bool { return l.Reason != out.Reason })
	}
	first, last, p := d.pages(len(all))
	out.Pager = p
	for i := range all[first:last] {
		l := &all[first+i]
		row := letterRow{ID: l.ID, Topic: l.Topic, Reason: d.reasonOf(l.Reason), At: d.when(l.At), Retried: d.when(l.RetriedAt)}
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

func retryLetter(on *adminRequest) { feedsRequest{localRequest{on}}.retry([]string{on.id()}) }

// retryLetters tries the records again that the page showed.
func retryLetters(on *adminRequest) {
	d := feedsRequest{localRequest{on}}
	ids := d.r.PostForm["id"]
	d.retry(ids[:min(len(ids), rowsAPage)])
}

// retry has records taken in that could not be applied. What this release cannot read
// either stays on the list, and the page says why.
func (d feedsRequest) retry(ids []string) {
	var refusals []string
	taken := 0
	for _, id := range ids {
		refused, ok := d.do(http.MethodPost, lettersAPI+"/"+url.PathEscape(id)+"/retry", "", nil, nil)
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
			why.WriteString(" (" + d.reasonOf(detail.Rule) + ")")
		}
		refusals = append(refusals, d.T("letters.not", "id", id, "why", why.String()))
	}
	if len(refusals) > 0 {
		d.showLetters(http.StatusUnprocessableEntity, refusals)
		return
	}
	d.settle(func() bool { return d.retried(ids) })
	d.done(d.at("letters"), "letters.done", "n", taken)
}

// retried reports whether the list shows that the records were taken in.
func (d feedsRequest) retried(ids []string) bool {
	for _, id := range ids {
		var l apiLetter
		a, err := d.ask(http.MethodGet, lettersAPI+"/"+url.PathEscape(id), "", nil)
		if err != nil || a.Refused != nil || a.Decode(&l) != nil || l.RetriedAt == nil {
			return false
		}
	}
	return true
}
