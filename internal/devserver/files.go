package devserver

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

	"github.com/gofrs/flock"

	"svc/internal/cli"
	"svc/internal/seal"
)

// Key files in the data folder. pseudonymKey contains the key that computes pseudonyms, and secretsKey contains the
// key that seals settings.
const (
	pseudonymKey = "pseudonym.key"
	secretsKey   = "secrets.key"
)

// keyBytes is the number of random bytes of a key. The file contains them in hexadecimal.
const keyBytes = 32

// loadSecret reads a key from the data folder, or creates it. With --ephemeral, it always creates a key and does not
// store it.
func (o *Options) loadSecret(name string) (string, error) {
	secret := make([]byte, keyBytes)
	rand.Read(secret)
	made := hex.EncodeToString(secret)
	if o.ephemeral {
		return made, nil
	}
	key, err := readKey(o.data, name)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = made, cli.WriteFile(filepath.Join(o.data, name), []byte(made))
		if err != nil {
			err = fmt.Errorf("create %s: %w", filepath.Join(o.data, name), cli.WithoutPath(err))
		}
	}
	return key, err
}

// ReadSecretsKey reads, from a data folder, the key with which svc dev seals its settings. The error wraps
// [fs.ErrNotExist] if the folder has none, for example after svc dev --ephemeral.
func ReadSecretsKey(data string) (string, error) { return readKey(data, secretsKey) }

// readKey reads a key from the data folder. If a crash or a full disk has damaged the file, readKey returns an error.
// A new key could not replace the damaged one: settings that are already sealed could not be decrypted, and each
// patient would get a second pseudonym.
func readKey(data, name string) (string, error) {
	path := filepath.Join(data, name)
	content, err := os.ReadFile(path) //nolint:gosec // the file is in the folder that the user named
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	key := strings.TrimSpace(string(content))
	if _, fault := hex.DecodeString(key); fault != nil || len(key) != 2*keyBytes || seal.Check(key) != nil {
		return "", fmt.Errorf("%s is damaged: it must contain the %d hexadecimal digits of a key; "+
			"restore a copy of it, or use a different folder with --data", path, 2*keyBytes)
	}
	return key, nil
}

// writeDevFile writes dev.json into the data folder.
func writeDevFile(data string, d *cli.DevFile) error {
	content, err := json.MarshalIndent(d, "", "  ") //nolint:gosec // keys of this machine, in a file that only the user can read
	if err != nil {
		return err
	}
	return cli.WriteFile(cli.DevFilePath(data), append(content, '\n'))
}

// lockData creates the folder and locks it for this process.
func lockData(dir string) (unlock func(), err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the data folder %s: %w", dir, cli.WithoutPath(err))
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	ours, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("cannot write to the data folder %s: %w", dir, cli.WithoutPath(err))
	}
	if !ours {
		return nil, fmt.Errorf("another svc dev is using %s; stop it, or choose a different folder with --data", dir)
	}
	if err = checkWritable(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write to the data folder %s: %w", dir, cli.WithoutPath(err)), lock.Close())
	}
	return func() { lock.Close() }, nil //nolint:errcheck // the process ends, which releases the lock
}

// checkWritable returns an error if a file in the folder cannot be written, for example because the disk is full.
// Creating the lock does not detect this, because the lock is an empty file.
func checkWritable(dir string) error {
	f, err := os.CreateTemp(dir, "try-*")
	if err != nil {
		return err //nolint:wrapcheck // the caller names the folder
	}
	_, err = f.Write(make([]byte, 1<<12))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
