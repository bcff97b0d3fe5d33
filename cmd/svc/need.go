package main

// need is what a command stands on; it selects its options.
type need uint16

const (
	needHTTP       need = 1 << iota // serves HTTP
	needTopics                      // creates topics
	needRedis                       // reads or writes the view
	needIngest                      // makes pseudonyms
	needProcess                     // is a member of a consumer group
	needNotify                      // sends to partners and people
	needSecrets                     // opens what is sealed
	needPseudonyms                  // changes the key of pseudonyms
	needPages                       // shows pages to people
	needLinks                       // makes links to them
)
