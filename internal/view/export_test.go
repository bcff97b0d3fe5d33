package view

import "github.com/alicebob/miniredis/v2/server"

// Hook makes the embedded Redis refuse each command for which refuse returns an error message. If refuse is nil, no
// command is refused.
func (e *Embedded) Hook(refuse func(command string) string) {
	if refuse == nil {
		e.server.Server().SetPreHook(nil)
		return
	}
	e.server.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
		why := refuse(command)
		if why != "" {
			p.WriteError(why)
		}
		return why != ""
	})
}
