package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces a file atomically: if a crash or a full disk interrupts the write, the previous file remains. Only
// the user of the process may read a new file. A path that is not a regular file, such as a pipe, is written directly.
func WriteFile(path string, content []byte) (err error) {
	mode := fs.FileMode(0o600)
	if known, fault := os.Stat(path); fault == nil {
		if mode = known.Mode(); !mode.IsRegular() {
			return os.WriteFile(path, content, mode.Perm())
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp.Name()) //nolint:errcheck // a leftover temporary file is harmless
		}
	}()
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Chmod(mode.Perm()), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err = os.Rename(temp.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(dir) //nolint:gosec // the user names the folder
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close()) // makes the new name durable
}
