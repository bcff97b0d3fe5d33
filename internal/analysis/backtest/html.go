package backtest

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"svc/acuity/forecast"
)

//go:embed report.html
var page string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent":  func(x float64) string { return fmt.Sprintf("%.1f\u00a0%%", 100*x) },
	"nurses":   func(x float64) string { return fmt.Sprintf("%.2f", x) },
	"horizons": func() []float64 { return horizons },
}).Parse(page))

// HTML writes the report as one page that loads no other files, in the times of the hospital.
func (r *Report) HTML(to io.Writer) error {
	const form = "2 Jan 2006 15:04"
	in := &r.inner
	return reportPage.Execute(to, struct {
		*Report
		First, Last                                                             string
		Ours                                                                    Errors
		WithinOneAll, BandAll                                                   float64 // of all hours ahead
		PictureSample, PictureErrors, PictureWeeks, PictureLevels, PictureCurve template.HTML
	}{
		r, r.From.In(r.zone).Format(form), r.To.In(r.zone).Format(form), r.Models[0], total(&in.near) / float64(r.Forecasts), total(&in.in) / float64(r.Forecasts),
		r.pictureSample(), r.pictureErrors(), r.pictureWeeks(), r.pictureLevels(), r.pictureCurve(),
	})
}

func total(of *[forecast.Horizon]float64) (sum float64) {
	for _, x := range of {
		sum += x
	}
	return sum
}
