package users

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/admin/audit"
)

// signIn signs in a person through the provider, at a browser.
func signIn(t *testing.T, o *Office, who string, in SignIn) Session {
	t.Helper()
	s, _, err := o.SignIn(t.Context(), [][]byte{[]byte("hash of " + who)}, who, map[string]Role{"north": Charge, "south": Viewer}, in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestASVS712ConcurrentSessions (ASVS 7.1.2): a person has at most ten sessions. One more session ends the oldest, with
// an audit record.
func TestASVS712ConcurrentSessions(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o, elsewhere := w.instance(), w.instance()
	var all []Session
	for i := range mostSessions + 2 {
		w.now = noon.Add(time.Duration(i) * time.Minute)
		all = append(all, signIn(t, o, "adaada", SignIn{}))
	}
	for i, s := range all {
		if _, open := elsewhere.Register.Session(s.ID); open != (i >= 2) {
			t.Errorf("session %d is open: %v", i, open)
		}
	}
	if n := len(w.ends("limit")); n != 2 {
		t.Errorf("%d on record", n)
	}
}

// ends returns the audit records of sessions that ended for the given reason.
func (w *world) ends(reason string) (all []audit.Act) {
	for _, act := range w.acts {
		if act.Action == ActEnd && act.Reason == reason {
			all = append(all, act)
		}
	}
	return all
}

// TestASVS724NewSessionForEachSignIn (ASVS 7.2.4): a sign-in begins a session with a new id, and ends the browser's
// previous session, even if that was another person's. Other sessions continue.
func TestASVS724NewSessionForEachSignIn(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o := w.instance()
	desk, home := signIn(t, o, "adaada", SignIn{}), signIn(t, o, "adaada", SignIn{})
	again := signIn(t, o, "bobbob", SignIn{Before: desk.ID})
	if again.ID == desk.ID || len(again.ID) != 32 {
		t.Errorf("session %s after %s", again.ID, desk.ID)
	}
	_, before := o.Register.Session(desk.ID)
	_, other := o.Register.Session(home.ID)
	if before || !other || len(w.ends("sign_in")) != 1 {
		t.Errorf("before open: %v, other open: %v; on record %v", before, other, w.acts)
	}
	w.now = noon.Add(14 * time.Hour)
	signIn(t, o, "bobbob", SignIn{})
	if _, kept := o.Register.Session(home.ID); kept {
		t.Error("a session whose time is over stays on record")
	}
}

// TestASVS742LockEndsSessions (ASVS 7.4.2): if an administrator of a hospital disables a person or ends the person's
// sessions, no session of the person remains valid in that hospital, not even one that began in another hospital.
func TestASVS742LockEndsSessions(t *testing.T) {
	t.Parallel()
	yes := true
	for name, c := range map[string]Change{"locked": {Disabled: &yes}, "ended": {EndSessions: true}} {
		w := &world{now: noon}
		o := w.instance()
		s := signIn(t, o, "adaada", SignIn{})
		for _, hospital := range []string{"south", "north"} {
			u, _ := o.Register.User(hospital, s.User)
			if _, err := o.Change(t.Context(), "key_1", o.Seen(), u, c); err != nil {
				t.Fatal(err)
			}
			u, _ = o.Register.User(hospital, s.User)
			if epoch, holds := s.EpochIn(hospital); !holds || epoch == u.Epoch {
				t.Errorf("%s: the session holds in %s", name, hospital)
			}
		}
		if left := o.Register.Sessions(s.User); len(left) > 0 {
			t.Errorf("%s: left are %+v", name, left)
		}
	}
}

// TestSecretIsShownOnce: if many requests in a session try to show the same secret concurrently, even at different
// instances, exactly one succeeds.
func TestSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	offices := []*Office{w.instance(), w.instance()}
	s := signIn(t, offices[0], "adaada", SignIn{})
	var group sync.WaitGroup
	shown := make(chan error, 20)
	for i := range cap(shown) {
		group.Go(func() { shown <- offices[i%2].ShowOnce(t.Context(), s.ID, noon.Add(time.Second)) })
	}
	group.Wait()
	close(shown)
	n := 0
	for err := range shown {
		if err == nil {
			n++
		} else if !errors.Is(err, ErrShown) {
			t.Error(err)
		}
	}
	if n != 1 || offices[0].ShowOnce(t.Context(), s.ID, noon.Add(2*time.Second)) != nil {
		t.Errorf("shown %d times", n)
	}
	if err := offices[0].EndSessions(t.Context(), "sign_out", s); err != nil || !errors.Is(offices[1].ShowOnce(t.Context(), s.ID, noon.Add(time.Hour)), ErrShown) {
		t.Error("a session that has ended shows a secret")
	}
}

// TestASVS1631RefusedSignIn (ASVS 16.3.1): a refused sign-in is recorded in the hospitals of the person or, if the
// person is unknown, for the installation. Repeated attempts create a limited number of records.
func TestASVS1631RefusedSignIn(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o := w.instance()
	s := signIn(t, o, "adaada", SignIn{})
	o.Refusals = &audit.Refusals{Record: o.Audit, Now: o.Now, Log: slog.New(slog.DiscardHandler)}
	w.acts = nil
	o.RefuseSignIn(t.Context(), [][]byte{[]byte("hash of adaada")}, "no_access")
	o.RefuseSignIn(t.Context(), nil, "unknown_link")
	var got []string
	for _, act := range w.acts {
		got = append(got, act.Hospital+" "+act.By+" "+act.Action+" "+act.Reason)
	}
	want := []string{
		"north " + s.User + " session.refuse no_access", "south " + s.User + " session.refuse no_access", "* unknown session.refuse unknown_link",
	}
	if !slices.Equal(got, want) {
		t.Errorf("on record %q, want %q", got, want)
	}
	w.acts = nil
	for range 1000 {
		o.RefuseSignIn(t.Context(), nil, "unknown_link")
	}
	if n := len(w.acts); n < 10 || n > 100 {
		t.Errorf("%d on record", n)
	}
}
