package fhir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// placeholder returns the UUID or OID of a URN; nil for any other text.
func placeholder(url []byte) []byte {
	for _, scheme := range []string{"urn:uuid:", "urn:oid:"} {
		if bytes.HasPrefix(url, []byte(scheme)) {
			return url[len(scheme):]
		}
	}
	return nil
}

// isUnique reports whether a placeholder keeps the promise of its scheme: a real UUID, or
// an OID with an arc of its own. Many senders write urn:uuid:patient or urn:uuid:1 in
// each body, for another patient each time.
func isUnique(urn []byte) bool {
	if bytes.Count(urn, []byte{'.'}) >= 3 {
		return len(bytes.Trim(urn, ".0123456789")) == 0
	}
	if len(urn) != len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	for i, c := range urn {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
	}
	return true
}

// hereOnly returns the name of a placeholder that may mean another resource in the next
// body. It includes the digest of this body, so that repeating the body has the same
// meaning.
func (d *document) hereOnly(urn []byte) []byte {
	if d.digest == nil {
		sum := sha256.Sum256(d.source)
		d.digest = hex.AppendEncode(nil, sum[:16])
	}
	return append(append(bytes.Clone(urn), 0), d.digest...)
}
