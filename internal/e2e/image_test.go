package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// builtImage builds the container image once and returns its name.
func builtImage(t testing.TB) string {
	t.Helper()
	if err := imageBuild(); err != nil {
		t.Fatal(err)
	}
	return imageName
}

// imageName has a tag for this run, because tests of another checkout may build svc:latest at the same time.
var imageName = fmt.Sprintf("svc:e2e-%d", os.Getpid())

var imageBuild = sync.OnceValue(func() error {
	_, tag, _ := strings.Cut(imageName, ":")
	out, err := exec.Command("make", "-C", "../..", "image", "TAG="+tag).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make image: %w\n%s", err, out)
	}
	imageBuilt = true
	return nil
})

var imageBuilt bool

// cleanImage removes the image of this run.
func cleanImage() {
	if imageBuilt {
		exec.Command("docker", "rmi", "-f", imageName).Run() //nolint:errcheck // a leftover image is removed when Docker's cache is cleared
	}
}

// TestImage runs the container image with every role, as the image's user and on a read-only file system, and then
// stops the container.
func TestImage(t *testing.T) {
	kafka, redis := needServers(t)
	if kafka.pool == nil {
		t.Skip("needs Docker to build and run an image")
	}
	t.Parallel()
	repository, tag, _ := strings.Cut(builtImage(t), ":")
	private, listen := "127.0.0.1:"+mustFreePort(t), "127.0.0.1:"+mustFreePort(t)
	env := []string{
		"SVC_KAFKA=" + kafka.address, "SVC_REDIS=redis://" + redis.address + "/0", "SVC_TOPIC_PREFIX=image.", "SVC_PARTITIONS=3",
		"SVC_PSEUDONYM_KEY=0123456789abcdef0123456789abcdef", "SVC_SECRETS_KEY=0123456789abcdef0123456789abcdef",
	}
	container, err := kafka.pool.RunWithOptions(&dockertest.RunOptions{
		Repository: repository, Tag: tag, Env: env,
		Cmd: []string{"run", "--listen", listen, "--private-listen", private},
	}, func(c *docker.HostConfig) { c.NetworkMode, c.ReadonlyRootfs, c.CapDrop = "host", true, []string{"ALL"} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kafka.pool.Purge(container); err != nil {
			t.Error(err)
		}
	})
	eventually(t, time.Minute, func() error { return ready("http://" + private + "/readyz") })
	cli(t, env, "hospitals", "create", "--id", "north", "--name", "north", "--timezone", "America/Chicago")
	key := cli(t, env, "keys", "mint", "--hospital", "north", "--name", "test", "--scopes", "all", "--rate", "0")
	p := newPartner("http://"+listen, "north", key)
	p.honored(t)
	tour(t, p)

	if user := container.Container.Config.User; user != "65532:65532" {
		t.Errorf("it runs as %q", user)
	}
	// StopContainer is not used, because dockertest stops its containers with SIGWINCH.
	client, id := kafka.pool.Client, container.Container.ID
	if err := client.KillContainer(docker.KillContainerOptions{ID: id, Signal: docker.SIGTERM}); err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if code, err := client.WaitContainerWithContext(id, within); code != 0 || err != nil {
		t.Errorf("asked to stop it ended with %d, %v", code, err)
	}
}
