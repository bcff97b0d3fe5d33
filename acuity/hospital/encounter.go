package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/identity"
	"svc/acuity/registry"
)

// encounterVersion identifies a version of an Encounter.
type encounterVersion struct {
	resource  string
	updatedAt acuity.Instant
	id        int64
}

// intakeVersion contains all events of one version of an Encounter in an observation, and the result of applying the
// version.
type intakeVersion struct {
	events   []*acuity.Event
	resolved []acuity.Event // copies of the events with resolved times; empty: none of the times is coarse
	taken    bool
	v        *registry.Visit // visit of the events; nil: none
	outcome  acuity.Outcome
	reason   string
}

// versionOf returns the Encounter version to which an event in the observation belongs.
func (es *eventStore) versionOf(in *registry.Intake, e *acuity.Event) *intakeVersion {
	if es.versions == nil {
		es.versions = map[encounterVersion]*intakeVersion{}
		for i := range in.Observation.Events {
			o := &in.Observation.Events[i]
			of := encounterVersion{o.Resource, o.UpdatedAt, o.VersionID}
			if es.versions[of] == nil {
				es.versions[of] = &intakeVersion{}
			}
			es.versions[of].events = append(es.versions[of].events, o)
		}
	}
	return es.versions[encounterVersion{e.Resource, e.UpdatedAt, e.VersionID}]
}

// versionTime returns the time by which the versions of an Encounter are ordered: the time of the version, or the
// receipt if the version has no time. The result is never later than the receipt.
func versionTime(updatedAt, receivedAt acuity.Instant) acuity.Instant {
	if updatedAt == 0 || updatedAt > receivedAt {
		return receivedAt
	}
	return updatedAt
}

// isOlderVersion reports whether a version of an Encounter is older than the stored version. Versions are compared by
// time, then by number, then by arrival. If neither version has a time, their numbers are compared first.
func isOlderVersion(e *acuity.Event, receivedAt acuity.Instant, stored *adt.Event) bool {
	at, storedAt := versionTime(e.UpdatedAt, receivedAt), versionTime(stored.UpdatedAt, stored.ReceivedAt)
	numbered := e.VersionID != 0 && stored.VersionID != 0
	if (e.UpdatedAt == 0 && stored.UpdatedAt == 0 || at == storedAt) && numbered && e.VersionID != stored.VersionID {
		return e.VersionID < stored.VersionID
	}
	return at < storedAt || at == storedAt && receivedAt < stored.ReceivedAt
}

// applyVersion decides whether the events of an Encounter's version are applied
// (docs/decisions.md#encounter-versions). If they are, it removes the events of the stored version, and the caller
// stores the new events. If they are not, the result has no visit, and its outcome states why. A version that is
// older than the stored one is not applied, but can still correct the times and the visit of the stored events. For
// the version's other events, applyVersion returns the same result.
func (es *eventStore) applyVersion(in *registry.Intake, e *acuity.Event) *intakeVersion {
	k := es.versionOf(in, e)
	if k.taken {
		return k
	}
	k.taken = true
	holder := es.names.Versions[e.Resource]
	stored := holder.EventsOf(e.Resource)
	if len(stored) == 0 {
		holder = nil
	}
	id := cmp.Or(e.Visit, e.Encounter)
	if k.v = es.names.VisitOfVersion(e, holder); k.v == nil && id == "" {
		k.outcome, k.reason = acuity.Ignored, reasonVisitUnknown
		return k
	}
	older := false
	if holder != nil {
		at, storedAt := versionTime(e.UpdatedAt, in.Observation.ReceivedAt), versionTime(stored[0].UpdatedAt, stored[0].ReceivedAt)
		if older = isOlderVersion(e, in.Observation.ReceivedAt, &stored[0]); !older &&
			holder == k.v && e.UpdatedAt != 0 && at == storedAt && repeatsEvents(k.events, stored) {
			k.v, k.outcome = nil, acuity.Duplicate
			return k
		}
	}
	if k.reason = es.refusalOfVersion(in, k, id); k.reason != "" {
		k.v, k.outcome = nil, acuity.Rejected
		return k
	}
	if k.v == nil {
		k.v = es.Visit(id)
	}
	known := coarseTimes(k.events)
	if len(stored) > 0 {
		known = mergeCoarseTimes(stored[0].CoarseTimes, known)
	}
	switch {
	case older: // the version is outdated, but it may identify the visit
		stored = es.resolveStored(holder, e.Resource, stored, known)
		if named := k.v; holder != named && holder.ID == e.Encounter && !e.Void {
			es.moveEvents(holder, named, e.Resource, stored)
		}
		k.v, k.outcome, k.reason = nil, acuity.Ignored, "version_older"
		return k
	case holder != nil:
		es.locations.ForgetPlaces(stored)
		es.dropEvents(holder, e.Resource)
		es.mergeNames(holder, k.v)
	}
	es.names.Versions[strings.Clone(e.Resource)] = k.v
	k.resolved = resolveTimes(k.events, known)
	return k
}

// refusalOfVersion returns the reason why a version exceeds a limit, or "" if it does not. Either all of a version's
// events are applied, or none.
func (es *eventStore) refusalOfVersion(in *registry.Intake, k *intakeVersion, id string) (reason string) {
	for _, e := range k.events {
		if reason := es.capacity.refusalOfEvent(in, k.v, id, e); reason != "" {
			return reason
		}
	}
	return ""
}

// repeatsEvents reports whether a version has the same events as the stored version.
func repeatsEvents(events []*acuity.Event, stored []adt.Event) bool {
	for _, sent := range events {
		if sent.ID == "" || !slices.ContainsFunc(stored, func(s adt.Event) bool { return s.ID == sent.ID }) {
			return false
		}
	}
	return len(events) == len(stored)
}

// dropEvents removes the events of a resource from a visit.
func (es *eventStore) dropEvents(v *registry.Visit, resource string) {
	kept := make([]adt.Event, 0, len(v.Events)) // the timeline still refers to the previous slice
	for i := range v.Events {
		if v.Events[i].Resource != resource {
			kept = append(kept, v.Events[i])
		}
	}
	v.Events = kept
	es.UpdateSize(v)
	es.IndexKnown(v)
	es.Work.RecountWaiting, es.Work.DropPast = true, true // the visit may now have only a name, so its statements wait
	es.RecordFact(v)
	es.Work.MarkVisit(v, registry.Unsaved|registry.Touched)
}

// moveEvents moves the events of a resource to the visit to which they belong.
func (es *eventStore) moveEvents(from, to *registry.Visit, resource string, list []adt.Event) {
	es.dropEvents(from, resource)
	to.Events = append(registry.GrowLittle(to.Events), list...)
	es.UpdateSize(to)
	es.IndexKnown(to)
	es.RecordFact(to)
	es.names.Versions[resource] = to
	for i := range list {
		es.nameVisit(to, list[i].Encounter)
	}
	es.Work.MarkVisit(to, registry.Unsaved|registry.Touched)
	es.mergeNames(from, to)
}

// nameVisit assigns the name of an Encounter to its visit. Statements with that name move to the visit.
func (es *eventStore) nameVisit(v *registry.Visit, name string) {
	if name == "" || es.names.ByEncounter[name] == v {
		return
	}
	es.names.ByEncounter[strings.Clone(name)] = v
	if o := es.Visits[name]; o != nil {
		es.mergeNames(o, v)
	}
}

// mergeNames moves the statements of a visit that has only a name to the visit to which that name belongs.
func (es *eventStore) mergeNames(from, to *registry.Visit) {
	if from == to || !from.IsName() {
		return
	}
	stated, list := from.Statements.ByArrival(func(*evidence.Statement) bool { return true }), from.ResourceStatements
	from.Statements, from.ResourceStatements, from.Cache = evidence.Statements{}, nil, nil
	for _, h := range stated {
		es.statements.AddToVisit(to, h)
	}
	for _, h := range list {
		es.statements.AddStatement(identity.Holder{V: to}, h)
		if h.Version != nil && !h.Version.IsDescribed() {
			es.names.Resources[h.WholeResource()] = identity.Holder{V: to}
		}
	}
	if len(stated)+len(list) > 0 {
		es.RecordFact(to)
		es.Work.MarkVisit(to, registry.Unsaved)
	}
	es.Work.RecountWaiting = true // the moved statements may no longer wait
}
