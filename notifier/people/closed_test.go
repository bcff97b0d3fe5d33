package people_test

import (
	"testing"
	"time"

	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// closed makes a recipient's addresses undecryptable for this process.
func (r *rig) closed(id string) {
	r.settings.recipients[id] = subscriber.Recipient{ID: id, Hospital: "mercy", EmailShown: id[:1] + "***@m***.example", PhoneShown: "***00"}
}

// opened makes a recipient's addresses decryptable again.
func (r *rig) opened(id string) {
	r.recipient(id)
	one := r.settings.recipients[id]
	one.EmailShown, one.PhoneShown = id[:1]+"***@m***.example", "***00"
	r.settings.recipients[id] = one
}

// TestClosedAddress: an address that cannot be decrypted is not treated as missing. The attempt fails and is counted,
// another recipient is alerted at once, and the message is sent once the address can be decrypted.
func TestClosedAddress(t *testing.T) {
	run(t, func(r *rig) {
		for _, id := range []string{"charge", "manager"} {
			r.closed(id)
		}
		r.level(orange)
		r.want("mail director ORANGE", "sms director ORANGE")
		mail := r.lists.to("charge", subscriber.ChannelMail)
		if mail.State != outbound.Pending || mail.NextAttemptAt.IsZero() || len(mail.Attempts) != 1 || mail.Attempts[0].Class != sending.ClassSealed {
			t.Errorf("delivery %+v", mail)
		}
		if e := r.lists.open(t); e.Reason != "escalated" || e.Unreached {
			t.Errorf("episode %+v", e)
		}
		if n := r.figures.attempts[sending.ClassSealed]; n != 4 {
			t.Errorf("%d attempts are counted as sealed", n)
		}
		r.opened("charge")
		r.n.SettingsChanged("mercy")
		r.wait(time.Second)
		r.want("mail charge ORANGE", "sms charge ORANGE")
	})
}

// TestClosedToAll: if no recipient's address can be decrypted, the recipients of the raise are alerted once their
// addresses can be decrypted, even if the first messages have expired by then.
func TestClosedToAll(t *testing.T) {
	for name, open := range map[string]time.Duration{"in time": 3 * time.Minute, "too late for the messages": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				for _, id := range []string{"charge", "manager", "director"} {
					r.closed(id)
				}
				r.level(orange)
				r.wait(open)
				r.want()
				if e := r.lists.open(t); !e.Unreached {
					t.Errorf("episode %+v", e)
				}
				for _, id := range []string{"charge", "manager", "director"} {
					r.opened(id)
				}
				r.n.SettingsChanged("mercy")
				r.wait(time.Second)
				told := r.received()
				for _, want := range []string{"mail charge ORANGE", "sms charge ORANGE", "mail manager ORANGE", "sms manager ORANGE"} {
					n := 0
					for _, one := range told {
						if one == want {
							n++
						}
					}
					if n != 1 {
						t.Errorf("%q came %d times, told %q", want, n, told)
					}
				}
				if e := r.lists.open(t); e.Unreached {
					t.Errorf("episode %+v", e)
				}
			})
		})
	}
}

// TestKeyOfAnotherProcess: if the text was sealed with another process's key, or if this process has no key, the
// message is not sent. A process that has the key sends it.
func TestKeyOfAnotherProcess(t *testing.T) {
	for name, wrong := range map[string]string{"none": "", "another": "another key, of another installation"} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				right := r.key
				r.settings.recipients["charge"] = subscriber.Recipient{ID: "charge", Hospital: "mercy", Email: "charge@mercy.example"}
				r.closed("manager") // the escalation goes to this recipient
				r.relay.down(true)
				r.level(yellow)
				r.commit()
				r.kill()
				r.relay.down(false)
				r.key = wrong
				r.start()
				r.wait(5 * time.Minute)
				r.want()
				mail := r.lists.to("charge", subscriber.ChannelMail)
				if last := mail.Attempts[len(mail.Attempts)-1]; mail.State != outbound.Pending || last.Class != sending.ClassSealed {
					t.Errorf("delivery %+v", mail)
				}
				r.commit()
				r.kill()
				r.key = right
				r.start()
				r.wait(time.Second)
				r.want("mail charge YELLOW")
			})
		})
	}
}
