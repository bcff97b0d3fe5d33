package web

import (
	"fmt"

	"svc/readapi/web/page"
	"svc/readapi/web/text"
)

// firstSteps returns the commands that lead a hospital without records to its first
// picture.
func firstSteps(t *text.Texts, hospital string) []page.Step {
	const post = `curl $SVC/api/ingest/%s -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '%s'`
	return []page.Step{
		{Say: t.T("none.key"), Command: "svc keys mint --hospital " + hospital + " --name first --scopes ingest:census,ingest:staffing"},
		{Say: t.T("none.census"), Command: fmt.Sprintf(post, "census", `{"totalRooms":12,"rooms":[{"roomId":1,"roomLabel":"LDR 1","area":"L&D","status":"occupied","primaryFactor":"labor-standard"}]}`)},
		{Say: t.T("none.staffing"), Command: fmt.Sprintf(post, "staffing", `{"nursesOnDuty":3,"callStaffAvailable":false}`)},
	}
}
