package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc/internal/cli"
	"svc/internal/seal"
)

// The files of the data folder that hold keys: one makes pseudonyms, one seals settings.
const (
	devPseudonymKey = "pseudonym.key"
	devSecretsKey   = "secrets.key"
)

// devKeyBytes is how many random bytes a key has. Its file holds them in hexadecimal.
const devKeyBytes = 32

// devSecret reads a key of the data folder, or makes it the first time. An ephemeral key is not
// stored.
func devSecret(o *devOptions, name string) (string, error) {
	secret := make([]byte, devKeyBytes)
	rand.Read(secret)
	made := hex.EncodeToString(secret)
	if o.ephemeral {
		return made, nil
	}
	key, err := readDevKey(o.data, name)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = made, writeWhole(filepath.Join(o.data, name), []byte(made))
		if err != nil {
			err = fmt.Errorf("make %s: %w", filepath.Join(o.data, name), reason(err))
		}
	}
	return key, err
}

// readDevKey reads a key of the data folder. It refuses a file that a crash or a full disk has
// damaged. With another key the settings would not open, and one patient would have two
// pseudonyms.
func readDevKey(data, name string) (string, error) {
	path := filepath.Join(data, name)
	content, err := os.ReadFile(path) //nolint:gosec // in the folder that the user named
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	key := strings.TrimSpace(string(content))
	if _, fault := hex.DecodeString(key); fault != nil || len(key) != 2*devKeyBytes || seal.Check(key) != nil {
		return "", fmt.Errorf("%s is damaged: it is not the %d hexadecimal digits of a key; put a copy of it back, or begin with another folder (--data)", path, 2*devKeyBytes)
	}
	return key, nil
}

// writeWhole replaces a file atomically, also if a crash or a full disk interrupts it. Only its
// user may read it.
func writeWhole(path string, content []byte) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, filepath.Base(path)+".*.new") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp.Name()) //nolint:errcheck // nobody reads it
		}
	}()
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err = os.Rename(temp.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(dir) //nolint:gosec // the folder that the user named
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close()) // makes the new name durable
}

// writeDevFile writes dev.json into the data folder.
func writeDevFile(data string, d *cli.DevFile) error {
	content, err := json.MarshalIndent(d, "", "  ") //nolint:gosec // keys of this machine only, in a file of its user
	if err != nil {
		return err
	}
	return writeWhole(cli.DevFilePath(data), append(content, '\n'))
}
