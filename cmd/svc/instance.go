package main

import (
	"context"
	"slices"

	"svc/internal/stream"
)

// claimInstance claims the name of the process, once for each role that is a member of a group. A
// svc process and a svc notify may have the same name.
func claimInstance(ctx context.Context, h *service, roles []string) (err error) {
	var names []string
	for _, role := range []string{"process", "notify"} {
		if slices.Contains(roles, role) {
			names = append(names, h.config.TopicPrefix+"svc-"+role+"-"+h.config.Instance)
		}
	}
	if len(names) == 0 || h.cluster.Embedded() {
		return nil
	}
	if h.claim, err = stream.NewClaim(ctx, h.cluster, names...); err != nil {
		return err
	}
	h.Run("instance", h.claim.Run)
	return nil
}
