package forecast

import "math"

// Priors of what is tracked. Our choice, measured as those of path.go.
const (
	ridgePrior  = 240.0 // nurses², or rooms²
	spreadPrior = 20.0  // nurses², of the slope of K, C and S on R
	spreadHours = 20.0  // hours behind the first residual variances
)

// spreadFirst are the residual variances of K, C and S of which nothing is known:
// nurses², rooms², points².
var spreadFirst = [3]float64{.25, .5, 200}

// outlook is the unit one hour ahead, corrected, with its distribution.
type outlook struct {
	required, occupied correction // of R and of C
	mean               amount
	sd                 float64
	slopes             [3]float64 // of K, C and S on R: means of K and S by it, scenarios of all three
	sds                [3]float64 // of their residuals
	tails              [Quantiles]float64
}

// correction is what a mean is corrected by.
type correction struct {
	raw       float64 // the mean before it
	byUsual   float64 // from it to what is usual at that hour
	fromUsual float64 // from the usual of now to now
}

// by returns the mean that two learnt weights make.
func (c *correction) by(w1, w2 float64) float64 {
	return max(0, c.raw+float64(w1*c.byUsual)+float64(w2*c.fromUsual))
}

// correct makes the outlooks of a path. The path knows the patients, not the
// habits of the unit: two learnt weights pull it to what is usual at that hour,
// and keep the distance from the usual that the unit has now. At a site whose
// stages say nothing that is the blend of persistence and the usual. Nurses and
// occupied rooms have weights of their own, since stages tell more of one than of the other.
func (m *Model) correct(p *path, hours *[Horizon + 1]stretch) [Horizon]outlook {
	var list [Horizon]outlook
	correctionOf := func(usual []float32, part, h int) correction {
		raw := p.mean[h][part]
		return correction{
			raw:       raw,
			byUsual:   usualAt(usual, &hours[h+1], raw) - raw,
			fromUsual: p.now[part] - usualAt(usual, &hours[0], p.now[part]),
		}
	}
	for h := range list {
		o := &list[h]
		o.required, o.occupied = correctionOf(m.Usual[:], nurses, h), correctionOf(m.UsualRooms[:], rooms, h)
		o.mean = p.mean[h]
		o.mean[nurses] = o.required.by(weights(m.Ridge[:], h))
		o.mean[rooms] = o.occupied.by(weights(m.RidgeRooms[:], h))
		o.slopes, o.sds = m.spread(h)
		for i, part := range [3]int{single, rooms, points} {
			if part != rooms {
				o.mean[part] = max(0, o.mean[part]+float64(o.slopes[i]*(o.mean[nurses]-o.required.raw)))
			}
		}
		o.sd = deviation(p.variance[h])
		o.tails = m.tails(h)
	}
	return list
}

// weights solves the ridge regression of an hour ahead.
func weights(ridge []float32, h int) (w1, w2 float64) {
	r := (*[5]float32)(ridge[h*5:])
	a, b, c := float64(r[0])+ridgePrior, float64(r[1]), float64(r[2])+ridgePrior
	y1, y2 := float64(r[3]), float64(r[4])
	det := float64(a*c) - float64(b*b)
	return (float64(c*y1) - float64(b*y2)) / det, (float64(a*y2) - float64(b*y1)) / det
}

// spread returns how K, C and S follow R, and the deviations of what is left.
func (m *Model) spread(h int) (slopes, sds [3]float64) {
	s := (*[spreadSize]float32)(m.Spreads[h*spreadSize:])
	n, square := float64(s[0]), float64(s[1])
	for i := range slopes {
		cross, own := float64(s[2+i]), float64(s[5+i])
		b := cross / (square + spreadPrior)
		slopes[i] = b
		left := own - float64(2*b*cross) + float64(float64(b*b)*square)
		sds[i] = math.Sqrt(max(0, left+float64(spreadHours*spreadFirst[i])) / (n + spreadHours))
	}
	return slopes, sds
}

// tails returns the quantiles of (actual - mean)/sd, ascending.
func (m *Model) tails(h int) [Quantiles]float64 {
	var q [Quantiles]float64
	for i := range q {
		x := float64(m.Tails[h*(Quantiles+1)+i])
		j := i
		for ; j > 0 && q[j-1] > x; j-- {
			q[j] = q[j-1]
		}
		q[j] = x
	}
	return q
}

// quantile returns the i-th quantile of the nurses required.
func (o *outlook) quantile(i int) float64 {
	return max(0, o.mean[nurses]+float64(o.sd*o.tails[i]))
}
