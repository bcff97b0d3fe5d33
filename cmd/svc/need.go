package main

// need is a set of things that a command needs. It selects the options of the command.
type need uint16

const (
	needHTTP       need = 1 << iota // serves HTTP
	needTopics                      // creates topics
	needRedis                       // reads or writes the view
	needIngest                      // makes pseudonyms
	needProcess                     // is a member of a consumer group
	needNotify                      // sends to partners and people
	needSecrets                     // opens sealed settings
	needPseudonyms                  // changes the key of pseudonyms
	needPages                       // shows pages to people
	needLinks                       // makes links to pages
)
