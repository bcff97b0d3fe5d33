package users

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/internal/admin/audit"
	"svc/internal/httpapi/access"
)

// world is a log of settings that several instances follow.
type world struct {
	mu   sync.Mutex
	at   int64
	acts []audit.Act
	now  time.Time
	all  []*Register
	away error // error that the log returns
}

// instance returns the Office of one process. Its register receives the changes of all instances.
func (w *world) instance() *Office {
	o := &Office{Register: NewRegister(), Now: func() time.Time { return w.now }}
	w.all = append(w.all, o.Register)
	o.Seen = func() int64 { w.mu.Lock(); defer w.mu.Unlock(); return w.at }
	o.Audit = func(_ context.Context, act audit.Act) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acts = append(w.acts, act)
		return w.away
	}
	o.Put = func(_ context.Context, seen int64, c Changes) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.away != nil:
			return w.away
		case seen < w.at:
			return access.ErrOvertaken
		}
		w.at++
		for _, r := range w.all {
			for _, u := range c.Users {
				r.SetUser(*u)
			}
			for _, l := range c.Links {
				r.SetLink(*l)
			}
			for _, u := range c.DropUsers {
				r.DropUser(u.Hospital, u.ID)
			}
			for _, l := range c.DropLinks {
				r.DropLink(l.Hash)
			}
			for _, v := range c.Sessions {
				r.SetSession(*v)
			}
			for _, v := range c.DropSessions {
				r.DropSession(v.ID)
			}
		}
		return nil
	}
	return o
}

// actions returns the sorted names of the recorded actions.
func (w *world) actions() (all []string) {
	for _, act := range w.acts {
		all = append(all, act.Action)
	}
	slices.Sort(all) // the order of actions in different hospitals is undefined
	return all
}

var noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

// TestFirstUseOfALinkWins: if a link is used many times concurrently at several instances, exactly one use succeeds.
func TestFirstUseOfALinkWins(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	offices := []*Office{w.instance(), w.instance(), w.instance()}
	link, token, err := offices[0].MakeLink(t.Context(), audit.CommandLine, "north", "night", Charge, time.Hour)
	if err != nil || len(token) != 64 || link.Hash != Hash(token) {
		t.Fatalf("%v, token of %d characters", err, len(token))
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var won []User
	refused := 0
	for i := range 30 {
		group.Go(func() {
			began, err := offices[i%len(offices)].UseLink(t.Context(), token, SignIn{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				u, _ := offices[i%len(offices)].Register.User(began.Hospital, began.User)
				won = append(won, u)
			case errors.Is(err, ErrNoLink):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 || refused != 29 {
		t.Fatalf("%d were signed in, %d refused", len(won), refused)
	}
	if u := won[0]; u.ID != link.User || u.Hospital != "north" || u.Role != Charge || u.Label != "night" || !u.Until.Equal(noon.Add(13*time.Hour)) {
		t.Errorf("user %+v", u)
	}
	for _, o := range offices {
		if u, ok := o.Register.User("north", link.User); !ok || !u.May(noon) {
			t.Error("an instance does not know the user")
		}
	}
	begun, failed := 0, 0
	for _, action := range w.actions() {
		switch action {
		case ActBegin:
			begun++
		case ActBegin + audit.Failed:
			failed++
		}
	}
	if begun-failed != 1 {
		t.Errorf("on record are %d sign-ins of which %d failed", begun, failed)
	}
}

// TestLinksThatDoNotSignIn: used and unknown links are refused. A refusal of a known link is
// recorded.
func TestLinksThatDoNotSignIn(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o := w.instance()
	if _, err := o.UseLink(t.Context(), Token(), SignIn{}); !errors.Is(err, ErrNoLink) || len(w.acts) != 0 {
		t.Errorf("one that never was: %v, on record %v", err, w.actions())
	}
	for _, ttl := range []time.Duration{0, LeastTTL - 1, MostTTL + 1} {
		if _, _, err := o.MakeLink(t.Context(), "key_1", "north", "x", Viewer, ttl); !errors.Is(err, ErrTTL) {
			t.Errorf("a link for %v: %v", ttl, err)
		}
	}
	_, token, err := o.MakeLink(t.Context(), "key_1", "north", "x", Viewer, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.now = noon.Add(time.Hour)
	if _, err := o.UseLink(t.Context(), token, SignIn{}); !errors.Is(err, ErrNoLink) || !slices.Equal(w.actions(), []string{ActLink, ActRefuse}) {
		t.Errorf("an expired one: %v, on record %v", err, w.actions())
	}
}

// TestNothingIsDoneWithoutARecord: while the log does not respond, a sign-in with a link fails, and the link remains
// valid.
func TestNothingIsDoneWithoutARecord(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o := w.instance()
	_, token, err := o.MakeLink(t.Context(), "key_1", "north", "x", Viewer, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.away = errors.New("away")
	if _, err := o.UseLink(t.Context(), token, SignIn{}); err == nil || errors.Is(err, ErrNoLink) {
		t.Errorf("with the log away: %v", err)
	}
	w.away = nil
	if _, err := o.UseLink(t.Context(), token, SignIn{}); err != nil {
		t.Errorf("the link was burnt by an attempt that came to nothing: %v", err)
	}
}

// TestWhatIsOverIsRemoved: a link or a user that ended more than a day ago is removed when the next link is created.
func TestWhatIsOverIsRemoved(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o := w.instance()
	make := func() string {
		t.Helper()
		_, token, err := o.MakeLink(t.Context(), "key_1", "north", "x", Viewer, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	used, unused := make(), make()
	if _, err := o.UseLink(t.Context(), used, SignIn{}); err != nil {
		t.Fatal(err)
	}
	o.Register.SetUser(User{ID: "usr_1", Hospital: "north", Role: Admin, Subject: []byte{1}})
	w.now = noon.Add(24 * time.Hour)
	make()
	if _, known := o.Register.Link(unused); !known || len(o.Register.Users("north")) != 2 {
		t.Error("removed too early")
	}
	w.now = noon.Add(38 * time.Hour)
	make()
	if len(o.Register.Links("north")) != 2 || len(o.Register.Users("north")) != 1 {
		t.Errorf("left are %d links and %d users", len(o.Register.Links("north")), len(o.Register.Users("north")))
	}
}

// TestRolesCover: each role includes the permissions of the previous ones, and an unknown role has
// none.
func TestRolesCover(t *testing.T) {
	t.Parallel()
	for i, a := range Roles() {
		for j, b := range Roles() {
			if a.Covers(b) != (i >= j) {
				t.Errorf("%s covers %s: %v", a, b, a.Covers(b))
			}
		}
		if Role("").Covers(a) || Role("root").Covers(a) {
			t.Error("what is no role covers", a)
		}
	}
}

// TestProviderSignsIn: a person has the same id in every hospital, and keeps the id when the key for the hash of the
// person's identity changes. At each sign-in, the person gets the roles from the identity provider. Where an
// administrator has disabled the person, the person has no access regardless of the role.
func TestProviderSignsIn(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o := w.instance()
	old, fresh := [][]byte{[]byte("old hash of ada")}, [][]byte{[]byte("new hash of ada"), []byte("old hash of ada")}
	sign := func(subjects [][]byte, roles map[string]Role) (all []User) {
		t.Helper()
		_, all, err := o.SignIn(t.Context(), subjects, "Ada", roles, SignIn{})
		if err != nil && !errors.Is(err, ErrNoAccess) {
			t.Fatal(err)
		}
		if (err != nil) != (len(all) == 0) {
			t.Errorf("%d users, %v", len(all), err)
		}
		return all
	}
	all := sign(old, map[string]Role{"south": Viewer, "north": Charge})
	if len(all) != 2 || all[0].Hospital != "north" || all[0].Role != Charge || all[1].Role != Viewer || all[0].ID != all[1].ID || !all[0].SignedInAt.Equal(noon) {
		t.Fatalf("%+v", all)
	}
	if last := o.Register.LastSignIn(all[1].ID); !last.Equal(noon) || !o.Register.LastSignIn("usr_other").IsZero() {
		t.Errorf("in south, the last sign-in was %v", last) // although it is recorded in north
	}
	if want := []string{ActBegin, ActChange}; !slices.Equal(w.actions(), want) {
		t.Errorf("on record %q", w.actions())
	}
	w.acts = nil
	again := sign(fresh, map[string]Role{"south": Viewer, "north": Viewer})
	if len(again) != 2 || again[0].ID != all[0].ID || again[0].Role != Viewer || string(again[1].Subject) != "new hash of ada" {
		t.Errorf("with another key: %+v", again)
	}
	w.acts = nil
	if got := sign(fresh, map[string]Role{"south": Viewer}); len(got) != 1 || got[0].Hospital != "south" {
		t.Errorf("without a hospital: %+v", got)
	}
	if u, known := o.Register.User("north", all[0].ID); !known || u.Role != NoRole || u.May(noon) || !slices.Contains(w.actions(), ActDrop) {
		t.Errorf("in the lost hospital: %+v; on record %q", u, w.actions())
	}
	locked, _ := o.Register.User("south", all[0].ID)
	locked.Disabled = true
	o.Register.SetUser(locked)
	if got := sign(fresh, map[string]Role{"south": Admin}); len(got) != 0 {
		t.Errorf("a disabled person: %+v", got)
	}
	if u, _ := o.Register.User("south", all[0].ID); !u.Disabled || u.Role != Admin {
		t.Errorf("changed to %+v", u)
	}
	if got := sign([][]byte{[]byte("hash of somebody else")}, nil); len(got) != 0 {
		t.Errorf("without a role: %+v", got)
	}
}

// TestLostRoleUndoesNothing: a disabled user remains disabled, and an ended session remains ended, even if the
// identity provider removes the user's role and assigns it again.
func TestLostRoleUndoesNothing(t *testing.T) {
	t.Parallel()
	w := &world{now: noon}
	o := w.instance()
	ada := [][]byte{[]byte("hash of ada")}
	admin, none := map[string]Role{"north": Admin}, map[string]Role{}
	_, all, err := o.SignIn(t.Context(), ada, "Ada", admin, SignIn{})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	locked, err := o.Change(t.Context(), "usr_boss", o.Seen(), all[0], Change{Disabled: &yes, EndSessions: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, roles := range []map[string]Role{none, admin, none, none, {"south": Viewer}, admin} {
		_, may, refused := o.SignIn(t.Context(), ada, "Ada", roles, SignIn{})
		if slices.ContainsFunc(may, func(u User) bool { return u.Hospital == "north" }) {
			t.Errorf("a locked person is in by %v: %v, %v", roles, may, refused)
		}
	}
	u, _ := o.Register.User("north", locked.ID)
	if !u.Disabled || u.Epoch <= all[0].Epoch || u.Version <= locked.Version {
		t.Errorf("locked as %+v, now %+v", locked, u)
	}
	if u, err = o.Change(t.Context(), "usr_boss", o.Seen(), u, Change{Disabled: &no}); err != nil || u.Epoch < locked.Epoch {
		t.Errorf("unlocked: %+v, %v", u, err)
	}
}

// TestEpochNeverFalls: in any order of sign-ins, locks and ended sessions, the epoch never decreases, and each change
// of the role increases it.
func TestEpochNeverFalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: noon}
		o := w.instance()
		ada := [][]byte{[]byte("hash of ada")}
		id := idOfSubject(ada[0])
		var epoch int64
		disabled := false
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			u, known := o.Register.User("north", id)
			before := u.Role
			if role := Role(rapid.SampledFrom([]string{"", "viewer", "charge", "admin"}).Draw(t, "role")); !known || rapid.Bool().Draw(t, "sign in") {
				roles := map[string]Role{"south": Viewer}
				if role != NoRole {
					roles["north"] = role
				}
				if _, _, err := o.SignIn(t.Context(), ada, "Ada", roles, SignIn{}); err != nil {
					t.Fatal(err)
				}
			} else {
				lock := rapid.Bool().Draw(t, "lock")
				if _, err := o.Change(t.Context(), "key_1", o.Seen(), u, Change{Disabled: &lock, EndSessions: rapid.Bool().Draw(t, "end")}); err != nil {
					t.Fatal(err)
				}
				disabled = lock
			}
			u, still := o.Register.User("north", id)
			switch {
			case known && !still:
				t.Fatal("the record of the person is gone")
			case u.Epoch < epoch, known && u.Role != before && u.Epoch == epoch:
				t.Fatalf("epoch %d after %d, role %q after %q", u.Epoch, epoch, u.Role, before)
			case u.Disabled != disabled:
				t.Fatalf("disabled: %v, set was %v", u.Disabled, disabled)
			}
			epoch = u.Epoch
		}
	})
}
