package signin

import (
	"embed"
	"net/http"
	"slices"
	"strings"

	"svc/acuity"
	"svc/internal/admin/users"
	"svc/readapi/web/auth"
	"svc/readapi/web/page"
)

//go:embed templates/*.html
var templateFiles embed.FS

var templates = page.ParseTemplates(templateFiles)

// The reasons why a session ended, as recorded in the audit log.
const (
	endedBySignOut = "sign_out"
	endedByPerson  = "by_person" // on the sessions page
)

// sessionsPath is the path of the page that lists a person's sessions.
const sessionsPath = auth.AppPath + "/sessions"

// sessionsPage shows the sessions of a person.
type sessionsPage struct {
	page.Frame

	Rows []sessionRow
}

type sessionRow struct {
	ID, Browser, Begun, Ends string
	Here                     bool // whether this is the session of the request
}

func (s *site) showSessions(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	p, now := s.NewWriter(r, session), s.Now()
	out := sessionsPage{Frame: s.NewFrame(r, p, session, p.T("sessions"))}
	for _, one := range s.openSessions(session) {
		row := sessionRow{
			ID: one.ID, Browser: one.Browser, Begun: p.FormatMoment(acuity.At(one.BegunAt), now), Here: one.ID == session.ID,
			Ends: p.FormatAhead(acuity.At(one.EndsAt), now),
		}
		if row.Browser == "" {
			row.Browser = p.T("sessions.browser")
		}
		out.Rows = append(out.Rows, row)
	}
	page.WritePage(w, r, http.StatusOK, templates.Render("sessions", out))
}

// openSessions returns the sessions of the signed-in person that may still be valid, newest first.
func (s *site) openSessions(session *auth.Session) []users.Session {
	now := s.Now()
	all := slices.DeleteFunc(s.Users.Sessions(session.User), func(one users.Session) bool {
		user, _ := s.Users.User(one.Hospital, one.User)
		epoch, holds := one.EpochIn(one.Hospital)
		return !now.Before(one.EndsAt) || !holds || epoch != user.Epoch
	})
	slices.Reverse(all)
	return all
}

// endSessions ends the session that a form names, or all sessions of the person if the form names none.
func (s *site) endSessions(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	r.Body = http.MaxBytesReader(w, r.Body, formAtMost)
	if r.ParseForm() != nil {
		s.ShowFault(w, r, http.StatusUnprocessableEntity, session, "fault.form")
		return
	}
	all := s.openSessions(session)
	if id := r.PostForm.Get("session"); id != "" {
		if all = slices.DeleteFunc(all, func(one users.Session) bool { return one.ID != id }); len(all) == 0 { // treated as missing
			s.ShowFault(w, r, http.StatusNotFound, session, "fault.session")
			return
		}
	}
	if err := s.Links.EndSessions(r.Context(), endedByPerson, all...); err != nil {
		s.ShowUnavailable(w, r, session, "sessions not ended", err)
		return
	}
	if slices.ContainsFunc(all, func(one users.Session) bool { return one.ID == session.ID }) {
		s.Cookies.EndSession(w)
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, sessionsPath, http.StatusSeeOther)
}

// formAtMost is the maximum size of a form in bytes.
const formAtMost = 4096

// browsers and systems map a word in the User-Agent header to a name. The first match counts, because a browser's
// header also contains the names of other browsers.
var (
	browsers = [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems  = [][2]string{
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Android", "Android"},
		{"Windows", "Windows"},
		{"Mac OS", "macOS"},
		{"CrOS", "ChromeOS"},
		{"Linux", "Linux"},
	}
)

// nameBrowser returns a short name of a browser, such as "Firefox, Windows", or "" if the browser is unknown. The
// User-Agent itself is not stored.
func nameBrowser(agent string) string {
	var names []string
	for _, list := range [][][2]string{browsers, systems} {
		if i := slices.IndexFunc(list, func(b [2]string) bool { return strings.Contains(agent, b[0]) }); i >= 0 {
			names = append(names, list[i][1])
		}
	}
	return strings.Join(names, ", ")
}
