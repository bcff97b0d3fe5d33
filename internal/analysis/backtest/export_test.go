package backtest

// BandTolerance exports bandTolerance for the tests.
var BandTolerance = bandTolerance
