package seal

import (
	"errors"
	"fmt"
)

// LeastKey is the minimal length of a key in characters.
const LeastKey = 32

// leastPairs is the minimal number of different pairs of neighboring characters in a
// key. A text that repeats up to 15 characters has fewer; 32 random digits have about
// 27.
const leastPairs = 16

// Check returns an error if a text is too weak to be a new key. It finds repetition,
// but not what somebody else could guess.
func Check(key string) error {
	if err := checkLength(key); err != nil {
		return err
	}
	pairs := map[[2]byte]bool{}
	for i := range len(key) - 1 {
		pairs[[2]byte{key[i], key[i+1]}] = true
	}
	if len(pairs) < leastPairs {
		return errors.New("must be random: what is given repeats itself; openssl rand -hex 32 makes one")
	}
	return nil
}

func checkLength(key string) error {
	if len(key) < LeastKey {
		return fmt.Errorf("must have at least %d characters", LeastKey)
	}
	return nil
}
