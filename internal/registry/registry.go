// Package registry tells readers of the topics which schema an id names.
//
// A schema registry holds versions of schemas by subject, and gives each an id that stands
// before every value. The ids of this build are constants, so the registry that svc serves is
// read-only and needs no storage. A health system that runs a registry of its own has the
// schemas registered there by [Register], and its ids are written.
package registry

import "slices"

// Subject is the schemas of one kind of record in one topic. Its name is as in
// TopicRecordNameStrategy: the topic, a hyphen, the full name of the record.
type Subject struct {
	Name     string
	Versions []Version // ascending
}

// Version is one schema.
type Version struct {
	Number int    // from 1
	ID     int    // of this build
	Schema string // Avro, in JSON
}

// find returns the versions of a subject.
func find(all []Subject, subject string) ([]Version, error) {
	i := slices.IndexFunc(all, func(s Subject) bool { return s.Name == subject })
	if i < 0 {
		return nil, errSubject
	}
	return all[i].Versions, nil
}

// placed is a version where it stands.
type placed struct {
	subject string
	Version
}

// byID returns the subjects and versions with an id.
func byID(all []Subject, id int) (found []placed) {
	for _, s := range all {
		for _, v := range s.Versions {
			if v.ID == id {
				found = append(found, placed{s.Name, v})
			}
		}
	}
	return found
}
