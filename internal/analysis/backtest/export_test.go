package backtest

// BandLimits makes bandLimits available to package backtest_test.
var BandLimits = bandLimits
