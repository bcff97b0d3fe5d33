package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"svc/schemas"
)

// verifies runs svc verify, and expects it to report the given difference, or none if want is empty.
func verifies(t *testing.T, args, env []string, want string) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"verify", "--patience", "2s"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	switch {
	case want == "" && (err != nil || !strings.Contains(string(out), "ok ")):
		t.Errorf("svc verify: %v\n%s", err, out)
	case want != "" && (!errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), want)):
		t.Errorf("svc verify: %v, want %q\n%s", err, want, out)
	}
}

// plantInView damages the view of a hospital, one fault at a time, and expects svc verify to report each fault.
func plantInView(t *testing.T, address, unit string, args, env []string) {
	t.Helper()
	ctx := context.Background()
	view := redis.NewClient(&redis.Options{Addr: address})
	defer view.Close()
	before := view.HGetAll(ctx, unit).Val()
	for name, row := range map[string]struct {
		plant map[string]any
		drop  string
		want  string
	}{
		"stale":   {plant: map[string]any{"r1": before["r2"]}, want: "stale_field at view room/1"},
		"missing": {drop: "r2", want: "missing_field at view room/2"},
		"foreign": {plant: map[string]any{"r99": before["r1"]}, want: "foreign_field at view room/99"},
		"unknown": {plant: map[string]any{"zzz": "x"}, want: "foreign_field at view zzz"},
	} {
		if row.plant != nil {
			view.HSet(ctx, unit, row.plant)
		} else {
			view.HDel(ctx, unit, row.drop)
		}
		t.Run(name, func(t *testing.T) { verifies(t, args, env, row.want) })
		view.Del(ctx, unit)
		if err := view.HSet(ctx, unit, before).Err(); err != nil {
			t.Fatal(err)
		}
	}
	verifies(t, args, env, "")
}

// say sends the rooms and the number of nurses of a unit, and the given number of magnesium signals.
func say(t *testing.T, p *partner, clinical int) {
	t.Helper()
	p.accepted(t, "census", `{"totalRooms": 12, "rooms": [
		{"roomId": 1, "roomLabel": "LDR 1", "area": "L&D", "status": "occupied", "primaryFactor": "labor-standard"},
		{"roomId": 2, "roomLabel": "LDR 2", "area": "L&D", "status": "occupied", "primaryFactor": "labor-standard"}]}`)
	p.accepted(t, "staffing", `{"nursesOnDuty": 3, "callStaffAvailable": false}`)
	for i := range clinical {
		p.accepted(t, "clinical", fmt.Sprintf(`{"roomId": %d, "signals": [{"kind": "medication", "system": "RxNorm", "code": "6585", "display": "magnesium sulfate", "status": "active"}]}`, i%6+1))
	}
}

// TestDevReplay exports, replays and verifies the data of a running svc dev, and imports the export into another svc
// dev.
func TestDevReplay(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	from, to := startDev(t, t.TempDir(), "--ephemeral"), startDev(t, t.TempDir(), "--ephemeral")
	say(t, newPartner(from.BaseURL, from.HospitalID, from.APIKey), 40)
	of := func(d *dev) []string { return []string{"--data", d.dir} }
	verifies(t, of(from), nil, "")
	partition := schemas.Partition([]byte(from.HospitalID), 3)
	plantInView(t, strings.TrimPrefix(from.Redis, "redis://"), fmt.Sprintf("svc:{%d}unit:%s", partition, from.HospitalID), of(from), nil)

	out := t.TempDir()
	cli(t, nil, "export", "--topic", "observations", "--data", from.dir, "--out", out)
	cli(t, nil, "export", "--topic", "verdicts", "--data", from.dir, "--out", out)
	cli(t, nil, "import", out, "--data", to.dir)
	eventually(t, 10*time.Second, func() error {
		if got := cli(t, nil, "verify", "--data", to.dir); !strings.Contains(got, "42 inputs, 42 changes") {
			return errors.New(got)
		}
		return nil
	})
	a, b := cli(t, nil, "replay", "--hospital", from.HospitalID, "--data", from.dir), cli(t, nil, "replay", "--hospital", from.HospitalID, "--data", to.dir)
	if a != b || strings.Count(a, "\n") != 41 {
		t.Errorf("the replays of an export and its import differ:\n%s\n%s", a, b)
	}
	parts := filepath.Join(out, "replayed")
	cli(t, nil, "replay", "--all", "--data", from.dir, "--out", parts)
	if all := files(t, parts); len(all) != 1 || strings.TrimSpace(all[fmt.Sprintf("/part-%d.ndjson", partition)]) != a {
		t.Errorf("the replay of all hospitals is %v", all)
	}
}

// TestVerifyOnServers verifies a real system, then damages its view, and then its changelog.
func TestVerifyOnServers(t *testing.T) {
	t.Parallel()
	s := startSystem(t, "north", "south")
	s.processor("p1")
	for _, p := range s.partners {
		say(t, p, 40)
	}
	waitUntilSettled(t, s.partners)
	verifies(t, nil, s.env, "")
	partition := schemas.Partition([]byte("north"), partitions)
	plantInView(t, s.redis.address, fmt.Sprintf("%ssvc:{%d}unit:north", s.prefix, partition), nil, s.env)
}

// TestKillExport kills an export repeatedly. The final export must have the same bytes as an uninterrupted one.
func TestKillExport(t *testing.T) {
	onlyInE2E(t)
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	say(t, newPartner(d.BaseURL, d.HospitalID, d.APIKey), 400)
	args := func(out string, more ...string) []string {
		return append([]string{"export", "--topic", "observations", "--data", d.dir, "--out", out, "--segment", "20"}, more...)
	}
	whole, killed := t.TempDir(), t.TempDir()
	cli(t, nil, args(whole)...)
	kills := 0
	for ; kills < 100; kills++ {
		n := start(t, "export", args(killed, "--rate", "400"))
		select {
		case <-n.exited:
		case <-time.After(time.Duration(150+20*kills) * time.Millisecond): // longer each time, so that the export can finish on any machine
			n.kill()
			continue
		}
		break
	}
	want, got := files(t, whole), files(t, killed)
	if kills < 3 || len(want) < 10 || !maps.Equal(want, got) {
		t.Errorf("after %d kills %d files, want %d, or they differ", kills, len(got), len(want))
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		all[strings.TrimPrefix(name, dir)] = string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
