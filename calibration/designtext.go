package calibration

import (
	"bytes"
	"encoding/json"
)

// EncodeDesign is a design, of a calibration or of another kind of study, as study.json has
// it. It panics if d has no JSON.
func EncodeDesign(d any) []byte {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// DecodeDesign is the inverse of EncodeDesign; d is a pointer. Unknown fields are errors.
func DecodeDesign(text []byte, d any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(d)
}
