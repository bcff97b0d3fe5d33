package integrations

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestUndo: the page of a new or changed mapping has a button that undoes the change.
func TestUndo(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	a.answers["GET /api/admin/terminology?limit=20000"] = mapOf
	a.answers["POST /api/admin/terminology"] = `{"mappings":[{"id":"map-1","factorId":"high-eclampsia"}]}`
	for form, wants := range map[string][2]string{
		"": {`action="/app/integrations/terminology/map/map-1"`},
		"&comment=newer&version=57&was.factor=high-mag&was.comment=%22earlier%22": {`name="factor" value="high-mag"`, `<input type="hidden" name="comment" value="&#34;earlier&#34;">`},
		"&comment=newer&version=57&was.factor=high-mag&was.comment=":              {`name="factor" value="high-mag"`, `<input type="hidden" name="comment" value="">`},
	} {
		got := a.Ask("POST", "/app/integrations/terminology/code", cookie, inCode+"&rowkind=medication&factor=high-eclampsia&do=apply"+form)
		body := a.follow(got, cookie).Body.String()
		if !strings.Contains(body, wants[0]) || !strings.Contains(body, wants[1]) || strings.Contains(got.Header().Get("Location"), "earlier") || !strings.Contains(body, ">Undo<") || !strings.Contains(body, "MAGSO4-DRIP now maps to ") {
			t.Errorf("%d lacks %q: %s", got.Code, wants, body)
		}
	}
}

// TestRefusedPreview: if the API refuses a preview, the page shows the reason and no effects.
func TestRefusedPreview(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	a.answers["GET /api/admin/terminology?limit=20000"] = mapOf
	a.answers["DELETE /api/admin/terminology/map-1?dryRun=true"] = `412 {"code":"precondition_failed","message":"It has changed."}`
	got := a.Ask("POST", "/app/integrations/terminology/map/map-1", cookie, inCode+"&do=preview&version=1")
	if got.Code != http.StatusPreconditionFailed || strings.Contains(got.Body.String(), `class="effect"`) {
		t.Errorf("%d: %s", got.Code, got.Body)
	}
}

// TestLongWorklist: the worklist page requests from the API only the part that it shows. A page number beyond the end
// shows the last page.
func TestLongWorklist(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	a.answers["GET /api/admin/terminology/worklist?limit=50&offset=9950&status=unmapped"] = strings.Replace(worklistOf, `"total":1`, `"total":10000`, 1)
	body := a.Ask("GET", "/app/integrations/terminology?page=200", cookie).Body.String()
	if !strings.Contains(body, "9951 to 10000 of 10000") || !strings.Contains(body, `rel="prev"`) || strings.Contains(body, `rel="next"`) {
		t.Error(fmt.Sprint("the last page: ", body))
	}
	a.answers["GET /api/admin/terminology/worklist?limit=50&offset=10000&status=unmapped"] = `{"items":[],"total":10000}`
	a.answers["GET /api/admin/terminology/worklist?limit=50&offset=52428750&status=unmapped"] = `{"items":[],"total":10000}`
	for _, beyond := range []string{"201", "9000000000000000000"} {
		if got := a.Ask("GET", "/app/integrations/terminology?page="+beyond, cookie).Body.String(); got != strings.ReplaceAll(body, "page=200", "page="+beyond) {
			t.Errorf("page %s: %s", beyond, got)
		}
	}
	a.answers["GET /api/admin/terminology/worklist?limit=50&offset=50&status=unmapped"] = `{"items":[],"total":0}`
	a.answers["GET /api/admin/terminology/worklist?limit=50&offset=0&status=unmapped"] = `{"items":[],"total":0}`
	if got := a.Ask("GET", "/app/integrations/terminology?page=2", cookie); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "No codes to show.") {
		t.Errorf("an empty list: %d %s", got.Code, got.Body)
	}
}
