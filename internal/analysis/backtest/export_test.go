package backtest

// BandLimits and MinimumGain make functions available to package backtest_test.
var (
	BandLimits  = bandLimits
	MinimumGain = minimumGain
)
