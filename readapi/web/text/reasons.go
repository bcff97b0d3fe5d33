package text

import (
	"strings"
	"sync"

	"svc/internal/httpapi/rules"
)

// ExplainRule returns the meaning of a rule of the API in the language of the page, with
// the rule itself in parentheses. A rule that nothing explains is returned as it is.
func (t *Texts) ExplainRule(rule string) string {
	about, known := rules.Explain(rule)
	if !known {
		return rule
	}
	return t.Or("rule."+about.Word, about.About) + " (" + rule + ")"
}

// messageKeys are the keys of the sentences of the API by their English text: the API has
// no code for each sentence.
var messageKeys = sync.OnceValue(func() map[string]string {
	keys := map[string]string{}
	for key, text := range allTexts["en"].words {
		if strings.HasPrefix(key, "said.") {
			keys[text] = key
		}
	}
	return keys
})

// TranslateMessage returns a sentence of the API in the language of the page. A sentence
// without a text is returned as it is.
func (t *Texts) TranslateMessage(message string) string {
	key, known := messageKeys()[message]
	if !known {
		return message
	}
	return t.T(key)
}
