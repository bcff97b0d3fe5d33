package seal

import (
	"errors"
	"fmt"
)

// LeastKey is how many characters a key has at least.
const LeastKey = 32

// leastPairs is how many different pairs of neighbors a key has at least. A text that
// repeats up to 15 characters has fewer; one of 32 random digits has about 27.
const leastPairs = 16

// Check returns why a text is not good enough to be a new key. It knows what repeats
// itself; it cannot know what somebody else could guess.
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
