package integrations

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// hidden matches the hidden fields of a form.
var hidden = regexp.MustCompile(`<input type="hidden" name="(version|was)" value="([^"]*)">`)

// TestFileOvertaken: the preview of a file contains the version of the table. If the table changes before the file is
// applied, the API refuses the file, and the page shows each row's old, current and new value. The next attempt is
// based on the current table.
func TestFileOvertaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ page, list, api, rows, before, now, did, says string }{
		"codes": {
			"terminology/import", "GET /api/admin/terminology?limit=20000", "/api/admin/terminology",
			"system,code,factorId,comment\nlocal,A,none,theirs\nlocal,B,none,\nlocal,C,none,\n",
			`{"mappings":[{"id":"map-a","system":"local","code":"A","factorId":"high-mag","comment":"x"},{"id":"map-c","system":"local","code":"C","factorId":"none"}],"version":4503599627370497}`,
			`{"mappings":[{"id":"map-b","system":"local","code":"B","factorId":"high-mag"},{"id":"map-c","system":"local","code":"C","factorId":"none"}],"version":4503599627370498}`,
			`{"mappings":[{"id":"map-a"},{"id":"map-b"},{"id":"map-c"}],"changes":[]}`,
			`<tr><th scope="row">local, A</th><td>Magnesium sulfate, x</td><td></td><td>No factor, theirs</td></tr><tr><th scope="row">local, B</th><td></td><td>Magnesium sulfate</td><td>No factor</td></tr></tbody>`,
		},
		"locations": {
			"terminology/locations/import", "GET /api/admin/locations", "/api/admin/locations",
			"pointOfCare,room,roomId,roomLabel,outside\nBIRTH,B9,9,Birth 9,\nICU,,,,true\n",
			`{"locations":[{"id":"loc-9","pointOfCare":"BIRTH","room":"B9","roomId":9,"roomLabel":"Birth 9"}],"version":4503599627370497}`,
			`{"locations":[{"id":"loc-9","pointOfCare":"BIRTH","room":"B9","roomId":7,"roomLabel":"Birth 7"}],"version":4503599627370498}`,
			`{"ids":["loc-9","loc-i"],"changes":[]}`,
			`<tr><th scope="row">BIRTH / B9</th><td>room 9, Birth 9</td><td>room 7, Birth 7</td><td>room 9, Birth 9</td></tr></tbody>`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			a.answers[tt.list], a.answers["POST "+tt.api+"?dryRun=true"] = tt.before, tt.did
			form := url.Values{"rows": {tt.rows}, "do": {"apply"}}
			carry := func(body string) {
				form.Del("version")
				for _, m := range hidden.FindAllStringSubmatch(body, -1) {
					form.Set(m[1], html.UnescapeString(m[2]))
				}
			}
			// An attempt to apply a file that has not been previewed shows the preview.
			got := a.Ask("POST", "/app/integrations/"+tt.page, cookie, form.Encode())
			carry(got.Body.String())
			if got.Code != http.StatusOK || len(a.acts()) != 1 || form.Get("version") != "4503599627370497" {
				t.Fatalf("preview: %d, asked %+v, carries %v", got.Code, a.acts(), form)
			}
			a.got = nil
			a.answers[tt.list] = tt.now
			a.answers["POST "+tt.api] = `412 {"code":"invalid_request","message":"It has another version."}`
			got = a.Ask("POST", "/app/integrations/"+tt.page, cookie, form.Encode())
			carry(got.Body.String())
			if acts := a.acts(); len(acts) != 2 || acts[0].What != "POST "+tt.api || acts[0].Match != `"4503599627370497"` || acts[1].What != "POST "+tt.api+"?dryRun=true" {
				t.Errorf("asked %+v", acts)
			}
			if body := got.Body.String(); got.Code != http.StatusPreconditionFailed || !strings.Contains(body, tt.says) || !strings.Contains(body, "Someone else changed this") || form.Get("version") != "4503599627370498" {
				t.Errorf("overtaken: %d, carries %v: %s", got.Code, form, body)
			}
			a.got = nil
			a.answers["POST "+tt.api] = tt.did
			a.after = func(what string) {
				if what == "POST "+tt.api {
					a.answers[tt.list] = tt.before
				}
			}
			got = a.Ask("POST", "/app/integrations/"+tt.page, cookie, form.Encode())
			if acts := a.acts(); got.Code != http.StatusSeeOther || len(acts) != 1 || acts[0].Match != `"4503599627370498"` {
				t.Errorf("then: %d, asked %+v", got.Code, acts)
			}
		})
	}
}

// TestFileFaultsInSpanish: a Spanish page describes the errors in a file in Spanish.
func TestFileFaultsInSpanish(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ page, rows, says string }{
		"nothing":        {"import", "", "El archivo está vacío."},
		"another column": {"import", "system,code,factor\nlocal,A,high-mag\n", "línea 1: la columna 3 debe ser una de estas: system, code, kind, factorId, op, than, comment."},
		"no column":      {"import", "system,code\nlocal,A\n", "línea 1: falta la columna factorId."},
		"a stray quote":  {"import", "system,code,factorId\nlocal,A\"B,none\n", "línea 2: unas comillas no se cierran o están dentro de un campo sin comillas."},
		"no number":      {"import", "system,code,factorId,op,than\nlocal,A,high-mag,&gt;,x\n", "línea 2: than: Ingrese un número, como 2.5."},
		"no room":        {"locations/import", "pointOfCare,roomId\nA,x\n", "línea 2: roomId: Ingrese un número de 0 a 2147483647."},
		"neither":        {"locations/import", "pointOfCare,outside\nA,yes\n", "línea 2: outside: Elija una de estas opciones: true, false."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			r := httptest.NewRequest("POST", "/app/integrations/terminology/"+tt.page, strings.NewReader(url.Values{"rows": {tt.rows}}.Encode()))
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Accept-Language", "es")
			r.AddCookie(cookie)
			got := httptest.NewRecorder()
			a.Router.ServeHTTP(got, r)
			if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), tt.says) || len(a.acts()) != 0 {
				t.Errorf("%d lacks %q, asked %+v: %s", got.Code, tt.says, a.acts(), got.Body)
			}
		})
	}
}

// TestFiles: an exported table can be imported again, either as a file or as pasted text.
func TestFiles(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	a.answers["GET /api/admin/terminology?limit=20000"] = mapOf
	for path, want := range map[string]string{
		"terminology/map.csv":       "system,code,kind,factorId,op,than,comment\nlocal,MAGSO4-DRIP,medication,high-eclampsia,,,was wrong\n",
		"terminology/locations.csv": "pointOfCare,room,bed,roomId,roomLabel,area,outside,primaryFactor\nBIRTH,B9,,9,Birth 9,LDR,,\n",
	} {
		got := a.Ask("GET", "/app/integrations/"+path, cookie)
		if got.Body.String() != want || !strings.HasPrefix(got.Header().Get("Content-Disposition"), "attachment;") || got.Header().Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Errorf("%s: %q, %v", path, got.Body, got.Header())
		}
	}
	a.answers["POST /api/admin/terminology?dryRun=true"] = wouldDo
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, err := w.CreateFormFile("file", "map.csv")
	if err == nil {
		_, err = file.Write([]byte("\xef\xbb\xbfsystem,code,factorId\nlocal,B,none\n"))
	}
	for name, value := range map[string]string{"do": "preview", "rows": ""} {
		if err == nil {
			err = w.WriteField(name, value)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/app/integrations/terminology/import", &form)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.AddCookie(cookie)
	got := httptest.NewRecorder()
	a.Router.ServeHTTP(got, r)
	body := got.Body.String()
	if got.Code != http.StatusOK || !strings.Contains(body, "local,B,none") || !strings.Contains(body, `value="apply"`) || !strings.Contains(body, "1 row is ready to import") {
		t.Errorf("%d: %s", got.Code, body)
	}
}

// TestInvalidFiles: the page refuses text that is not a table without sending a request to the API.
func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ rows, says string }{
		"nothing":        {"", "The file is empty."},
		"no rows":        {"system,code,factorId\n", "The file has no rows."},
		"another column": {"system,code,factor\nlocal,A,high-mag\n", "line 1: the name of column 3 must be one of"},
		"no number":      {"system,code,factorId,op,than\nlocal,A,high-mag,>,x\n", "line 2: than: Enter a number, such as 2.5."},
		"too many":       {"system,code,factorId\n" + strings.Repeat("local,A,none\n", rowsAtOnce+1), "Import at most 5000 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, cookie := local(t)
			got := a.Ask("POST", "/app/integrations/terminology/import", cookie, url.Values{"rows": {tt.rows}, "do": {"apply"}}.Encode())
			if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), tt.says) || len(a.acts()) != 0 {
				t.Errorf("%d lacks %q, asked %+v", got.Code, tt.says, a.acts())
			}
			if strings.Contains(got.Body.String(), "local,A") {
				t.Error("the page repeats the refused text")
			}
		})
	}
}

// TestFewImportsAtOnce: while two imports of a hospital are running, a third import is refused with 429, and nothing
// is sent to the API. After the first two have ended, the page processes the next import.
func TestFewImportsAtOnce(t *testing.T) {
	t.Parallel()
	const path = "/app/integrations/terminology/import"
	a, cookie := local(t)
	var running sync.WaitGroup
	end := make([]*io.PipeWriter, importsPerHospital)
	for i := range end {
		body, in := io.Pipe()
		end[i] = in
		r := httptest.NewRequest("POST", path, body)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(cookie)
		running.Go(func() { a.Router.ServeHTTP(httptest.NewRecorder(), r) })
		if _, err := in.Write([]byte("do=preview&rows=")); err != nil { // blocks until the form is being read
			t.Fatal(err)
		}
	}
	got := a.Ask("POST", path, cookie, "rows=system,code,factorId%0Alocal,A,none&do=apply")
	if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") != "5" || len(a.acts()) != 0 {
		t.Errorf("%d, Retry-After %q, asked %+v", got.Code, got.Header().Get("Retry-After"), a.acts())
	}
	if body := got.Body.String(); !strings.Contains(body, "Two imports for your hospital are already running") || strings.Contains(body, "local,A") {
		t.Error(body)
	}
	for _, in := range end {
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	running.Wait()
	if got := a.Ask("POST", path, cookie, "rows=system&do=apply"); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d after the others have ended", got.Code)
	}
}

// TestFewImportsOfAProcess: a process runs at most eight imports at once. The next import is refused because the
// service is busy, and is accepted once another import has ended.
func TestFewImportsOfAProcess(t *testing.T) {
	t.Parallel()
	var all imports
	var ends []func()
	for i := range importsAtMost {
		end, status, key := all.begin(fmt.Sprint("h", i))
		if end == nil {
			t.Fatalf("import %d: %d %s", i, status, key)
		}
		ends = append(ends, end)
	}
	if end, status, key := all.begin("late"); end != nil || status != http.StatusServiceUnavailable || key != "fault.importsbusy" {
		t.Errorf("%d %s", status, key)
	}
	ends[0]()
	if end, status, key := all.begin("late"); end == nil {
		t.Errorf("%d %s", status, key)
	}
	for _, end := range ends[1:] {
		end()
	}
	if all.all != 1 || len(all.hospitals) != 1 {
		t.Errorf("%d run, of %v", all.all, all.hospitals)
	}
}

// TestFormsAreSmall: a large form without a file is refused.
func TestFormsAreSmall(t *testing.T) {
	t.Parallel()
	a, cookie := local(t)
	got := a.Ask("POST", "/app/integrations/terminology/code", cookie, "code="+strings.Repeat("x", adminFormAtMost))
	if got.Code != http.StatusUnprocessableEntity || len(a.acts()) != 0 {
		t.Errorf("%d, asked %+v", got.Code, a.acts())
	}
}
