package backtest

// BandLimits exports bandLimits for the tests.
var BandLimits = bandLimits
