package chart_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"svc/readapi/web/chart"
)

var levelLabel = regexp.MustCompile(`<text[^>]* x="([0-9.]+)"[^>]*>([^<]+)</text>`)

// TestLevelLabelsKeepApart: for any number of columns and any label text, no column label overlaps another one or
// extends beyond the figure, and the center of each label is below its column. The labels begin at the first column for
// which there is space, and the labeled columns are equally far apart, but not farther than necessary.
func TestLevelLabelsKeepApart(t *testing.T) {
	for _, narrow := range []bool{false, true} {
		for n := 1; n <= 60; n++ {
			for every := 1; every <= 6; every++ {
				for _, word := range []string{"07:%02d", "Nov %02d", "%02d de nov"} {
					l := chart.Levels{Title: "Green", Narrow: narrow}
					for i := range n {
						column := chart.LevelColumn{Likely: -1}
						if i%every == 0 {
							column.At = fmt.Sprintf(word, i)
						}
						l.Columns = append(l.Columns, column)
					}
					checkLabels(t, fmt.Sprintf("%d columns, narrow %t, every %d", n, narrow, every), &l, every)
				}
			}
		}
	}
}

func checkLabels(t *testing.T, name string, l *chart.Levels, every int) {
	t.Helper()
	width, letters := 760.0, float64(len([]rune(l.Columns[0].At)))
	if l.Narrow {
		width = 380
	}
	each := width / float64(len(l.Columns))
	end, half := 0.0, 3.8*letters
	var labeled []int
	for _, m := range levelLabel.FindAllStringSubmatch(string(l.SVG()), -1) {
		at, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if at-half < end || at+half > width {
			t.Errorf("%s: a label at %.0f, the one before ends at %.0f", name, at, end)
		}
		end = at + half
		column := slices.IndexFunc(l.Columns, func(c chart.LevelColumn) bool { return c.At == m[2] })
		if int(at/each) != column {
			t.Errorf("%s: the label of column %d is below column %.1f", name, column, at/each)
		}
		labeled = append(labeled, column)
	}
	if len(labeled) == 0 || float64(labeled[0]-every)*each > (8*letters+4)/2 {
		t.Fatalf("%s: labels at %v", name, labeled)
	}
	if len(labeled) == 1 {
		labeled = append(labeled, (len(l.Columns)-1)/every*every) // as far as the last column that could have a label
	}
	apart := labeled[1] - labeled[0]
	for i := 1; i < len(labeled); i++ {
		if labeled[i]-labeled[i-1] != apart {
			t.Errorf("%s: labels at %v", name, labeled)
		}
	}
	if float64(apart-every)*each > 1.5*(8*letters+4) {
		t.Errorf("%s: labels at %v, although there is space between them", name, labeled)
	}
}
