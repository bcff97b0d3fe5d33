package hl7

// Raw returns a field as sent, with its escapes, or nil if it is missing.
func (m *Message) Raw(name string, field int) []byte {
	switch name {
	case "MSH":
		return m.header(field)
	case "EVN":
		return m.field(m.evn, field)
	case "PID":
		return m.field(m.pid, field)
	case "PV1":
		return m.field(m.pv1, field)
	case "PV2":
		return m.field(m.pv2, field)
	default:
		return nil
	}
}
