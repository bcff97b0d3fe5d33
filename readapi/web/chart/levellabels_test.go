package chart_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"svc/readapi/web/chart"
)

var levelLabel = regexp.MustCompile(`<text[^>]* x="([0-9.]+)"[^>]*>([^<]+)</text>`)

// TestLevelLabelsKeepApart: for any number of columns and any label text, no column label overlaps another one or
// extends beyond the figure.
func TestLevelLabelsKeepApart(t *testing.T) {
	for _, narrow := range []bool{false, true} {
		for n := 1; n <= 60; n++ {
			for every := 1; every <= 6; every++ {
				for _, word := range []string{"07:00", "Nov 27", "27 de nov"} {
					l := chart.Levels{Title: "Green", Narrow: narrow}
					for i := range n {
						column := chart.LevelColumn{Likely: -1}
						if i%every == 0 {
							column.At = word
						}
						l.Columns = append(l.Columns, column)
					}
					checkLabels(t, fmt.Sprintf("%d columns, narrow %t, every %d", n, narrow, every), string(l.SVG()), narrow, word)
				}
			}
		}
	}
}

func checkLabels(t *testing.T, name, svg string, narrow bool, word string) {
	t.Helper()
	width, half := 760.0, 3.8*float64(len([]rune(word)))
	if narrow {
		width = 380
	}
	end, found := 0.0, 0
	for _, m := range levelLabel.FindAllStringSubmatch(svg, -1) {
		if strings.TrimSpace(m[2]) != word {
			continue
		}
		at, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if at-half < end || at+half > width {
			t.Errorf("%s: a label at %.0f, the one before ends at %.0f", name, at, end)
		}
		end = at + half
		found++
	}
	if found == 0 {
		t.Errorf("%s: no label", name)
	}
}
