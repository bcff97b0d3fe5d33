package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDeployGivesOptionsThatExist: each variable in deploy/ that begins with SVC_ is the variable of an option.
func TestDeployGivesOptionsThatExist(t *testing.T) {
	known := map[string]bool{"SVC_IMAGE": true} // used by the Compose file itself
	for _, o := range new(Config).options() {
		known[o.variable()] = true
		if o.secret {
			known[o.variable()+"_FILE"] = true
		}
	}
	given := 0
	err := filepath.WalkDir("../../deploy", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`\bSVC_[A-Z_]+`).FindAllString(string(content), -1) {
			if given++; !known[name] {
				t.Errorf("%s gives %s, which no option reads", path, name)
			}
		}
		return err
	})
	if err != nil || given == 0 {
		t.Fatalf("%d variables: %v", given, err)
	}
}
