package backtest

// BandTolerance is bandTolerance, for the tests.
var BandTolerance = bandTolerance
