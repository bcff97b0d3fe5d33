// Package statefulset lets a process leave its consumer group when Kubernetes scales down the StatefulSet of its pod.
package statefulset

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/internal/authorities"
	"svc/internal/cli"
)

// serviceAccount is the folder in which Kubernetes provides the credentials of a pod for its API.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// preStopWithin is the timeout of the request to Kubernetes.
const preStopWithin = 5 * time.Second

// PreStopCommand returns the command svc prestop. Kubernetes runs it in a pod of a StatefulSet before it stops the
// pod. If the StatefulSet is scaled down or deleted, the process in the pod leaves its group. If the pod is replaced,
// the process remains a member, and its partitions remain assigned to it.
func PreStopCommand(w cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "prestop", Hidden: true,
		Short: "run the preStop hook of a StatefulSet: make the process leave its group if the StatefulSet is scaled down",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), preStopWithin)
			defer cancel()
			pod, _ := w.LookupEnv("SVC_INSTANCE")
			k, err := inCluster(w.LookupEnv)
			if err != nil {
				return err
			}
			gone, err := k.scaledDown(ctx, pod)
			if err != nil || !gone {
				return err
			}
			return askToLeave(1) // the main process of the container
		},
	}
}

// kubernetes is a client of the API server, for use inside a pod.
type kubernetes struct {
	base, token, namespace string
	client                 *http.Client
}

// inCluster returns a client with the address of the API server and the token of this pod.
func inCluster(env func(string) (string, bool)) (*kubernetes, error) {
	host, _ := env("KUBERNETES_SERVICE_HOST")
	port, _ := env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("this process does not run in a Kubernetes pod")
	}
	token, err := os.ReadFile(filepath.Join(serviceAccount, "token"))
	if err != nil {
		return nil, fmt.Errorf("read the token of the service account: %w", cli.WithoutPath(err))
	}
	namespace, err := os.ReadFile(filepath.Join(serviceAccount, "namespace"))
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the pod: %w", cli.WithoutPath(err))
	}
	roots, err := authorities.Read(filepath.Join(serviceAccount, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("the cluster's certificate authority: %w", err)
	}
	return &kubernetes{
		base: "https://" + net.JoinHostPort(host, port), token: string(token), namespace: string(namespace),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},
	}, nil
}

// scaledDown reports whether Kubernetes will not replace a pod: its StatefulSet has too few replicas for the pod's
// ordinal, is being deleted, or no longer exists.
func (k *kubernetes) scaledDown(ctx context.Context, pod string) (bool, error) {
	dash := strings.LastIndexByte(pod, '-')
	ordinal, err := strconv.Atoi(pod[dash+1:])
	if dash <= 0 || err != nil {
		return false, fmt.Errorf("%q is not the name of a StatefulSet pod", pod)
	}
	address := k.base + "/apis/apps/v1/namespaces/" + k.namespace + "/statefulsets/" + pod[:dash]
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, fmt.Errorf("ask Kubernetes: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+k.token)
	answer, err := k.client.Do(req)
	if err != nil {
		return false, fmt.Errorf("ask Kubernetes: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // the body was only read
	if answer.StatusCode == http.StatusNotFound {
		return true, nil
	}
	if answer.StatusCode != http.StatusOK {
		return false, fmt.Errorf("get the StatefulSet %s from Kubernetes: %s", pod[:dash], answer.Status)
	}
	var set struct {
		Metadata struct{ DeletionTimestamp string }
		Spec     struct {
			Replicas *int
			Ordinals struct{ Start int }
		}
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 4<<20)).Decode(&set); err != nil {
		return false, fmt.Errorf("read the StatefulSet %s: %w", pod[:dash], err)
	}
	if set.Spec.Replicas == nil {
		return false, fmt.Errorf("the StatefulSet %s does not set spec.replicas", pod[:dash])
	}
	return set.Metadata.DeletionTimestamp != "" || ordinal >= set.Spec.Ordinals.Start+*set.Spec.Replicas, nil
}
