package integrations

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRefusedInSpanish: a Spanish page says in Spanish why a form is refused.
func TestRefusedInSpanish(t *testing.T) {
	t.Parallel()
	a := withAdmins(t)
	a.answers["POST /api/admin/keys"] = `422 {"code":"unprocessable","message":"The hospital has as many valid keys as it may have; revoke one.","details":[{"path":"name","rule":"minLength:1"},{"path":"","rule":"maxKeys:200"}]}`
	r := httptest.NewRequest("POST", "/app/integrations/keys/new", strings.NewReader("name="))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept-Language", "es")
	r.AddCookie(a.Cookie("north", "usr_admin"))
	got := httptest.NewRecorder()
	a.Router.ServeHTTP(got, r)
	body := got.Body.String()
	for _, want := range []string{"Corrija los campos marcados.", ">Ingrese un valor.<", "Su hospital tiene 200 claves activas, el máximo."} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %q: %s", want, body)
		}
	}
	if got.Code != http.StatusUnprocessableEntity || strings.Contains(body, "valid keys") || strings.Contains(body, "maxKeys") {
		t.Errorf("%d: %s", got.Code, body)
	}
}
