package config

// Need is a set of things that a command needs. It selects the options of the command.
type Need uint16

// The needs of roles and commands.
const (
	NeedHTTP       Need = 1 << iota // serves HTTP
	NeedTopics                      // creates topics
	NeedRedis                       // reads or writes the view
	NeedIngest                      // makes pseudonyms
	NeedProcess                     // is a member of a consumer group
	NeedNotify                      // sends to partners and people
	NeedSecrets                     // opens sealed settings
	NeedPseudonyms                  // changes the key of pseudonyms
	NeedPages                       // shows pages to people
	NeedLinks                       // makes links to pages
)
