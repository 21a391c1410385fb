package shares

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Key is a member's secret, of X25519 (RFC 7748).
type Key struct{ private *ecdh.PrivateKey }

// NewKey makes a key.
func NewKey() (Key, error) {
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	return Key{private}, err
}

// ParseKey reads what Bytes wrote.
func ParseKey(text []byte) (Key, error) {
	private, err := ecdh.X25519().NewPrivateKey(text)
	return Key{private}, err
}

// Bytes is the secret.
func (k Key) Bytes() []byte { return k.private.Bytes() }

// Public is what others seal by.
func (k Key) Public() []byte { return k.private.PublicKey().Bytes() }

// Format prints nothing of it, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { io.WriteString(f, "shares.Key(withheld)") }

// channel is what one member seals for another, who both can open: AES-256-GCM with a random nonce,
// by a key of HKDF (RFC 5869) of their common secret, the session, and who seals for whom.
func (g *Group) channel(k Key, other, from, to int) (cipher.AEAD, error) {
	public, err := ecdh.X25519().NewPublicKey(g.Keys[other])
	if err != nil {
		return nil, err
	}
	secret, err := k.private.ECDH(public)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, secret, g.Session[:], fmt.Sprintf("dpreg share from %d to %d", from, to), 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (g *Group) seal(k Key, from, to int, text []byte) ([]byte, error) {
	c, err := g.channel(k, to, from, to)
	if err != nil {
		return nil, err
	}
	return c.Seal(nil, nil, text, nil), nil
}

func (g *Group) open(k Key, from, to int, sealed []byte) ([]byte, error) {
	c, err := g.channel(k, from, from, to)
	if err != nil {
		return nil, err
	}
	text, err := c.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, errors.New("the share cannot be opened: it was changed, or is of another session or key")
	}
	return text, nil
}
