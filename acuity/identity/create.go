package identity

import (
	"slices"

	"svc/acuity/facts"
	"svc/acuity/registry"
)

// FindExisting finds the parts of an observation whose resources already exist. It runs before any part of the
// observation is applied, and in log order, so two concurrent requests create only one resource.
func (ns *Names) FindExisting(in *registry.Intake) {
	for _, c := range in.Observation.Creates {
		if !slices.ContainsFunc(c.Names, ns.knows) {
			continue
		}
		in.Existing = append(in.Existing, c)
		for i := c.References.From; i < c.References.To; i++ {
			in.Warn(facts.ReasonExists, registry.ItemPath("references", int(i)))
		}
	}
}

// knows reports whether a visit, a resource or a reference has the given name. Only stored facts count, so a restored
// unit gives the same result.
func (ns *Names) knows(name string) bool {
	if ns.References.Rows[name] != nil {
		return true
	}
	if v := ns.VisitCalled(name); v != nil && v.IsCalled(name) {
		return true
	}
	if len(ns.Joins.claimants(ns.Joins.Accounts, name)) > 0 {
		return true
	}
	if len(ns.Versions[name].EventsOf(name)) > 0 {
		return true
	}
	list := ns.Resources[name].ResourceStatements()
	for i := range list {
		if list[i].WholeResource() == name {
			return true
		}
	}
	return false
}
