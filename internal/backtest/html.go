package backtest

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed report.html
var page string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent":  func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
	"nurses":   func(x float64) string { return fmt.Sprintf("%.2f", x) },
	"horizons": func() []float64 { return horizons },
}).Parse(page))

// HTML writes the report as one page that loads nothing.
func (r *Report) HTML(to io.Writer) error {
	return reportPage.Execute(to, struct {
		*Report
		PictureSample, PictureErrors, PictureWeeks, PictureLevels, PictureCurve template.HTML
	}{r, r.pictureSample(), r.pictureErrors(), r.pictureWeeks(), r.pictureLevels(), r.pictureCurve()})
}
