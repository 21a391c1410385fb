package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/vi"
)

const vaeIntro = `Variational autoencoder of d3p (Prediger et al. 2022, section 5.1): images of 784 pixels,
%d to train and %d held out, each binarised once; 400 hidden units, 50 latent variables,
688884 parameters; batches of about 128, Adam 1e-3, δ = 1e-5, add-remove neighbours.
Loss is minus the evidence bound of a held-out image, in nats. Seconds are of the clock.
Noise is simulated.`

const needsImages = "a directory with the four IDX files of MNIST or Fashion-MNIST"

const (
	pixels    = 28 * 28
	vaeBatch  = 128
	vaeEpochs = 20
	vaeDelta  = 1e-5
	vaeClip   = 20
)

// vaeStudy is without privacy, and with each ε.
func vaeStudy(from source) (*study, error) {
	train, err := readImages(filepath.Join(from.path, "train-images-idx3-ubyte"), from.seed)
	if err != nil {
		return nil, err
	}
	test, err := readImages(filepath.Join(from.path, "t10k-images-idx3-ubyte"), from.seed+1)
	if err != nil {
		return nil, err
	}
	s := &study{intro: fmt.Sprintf(vaeIntro, len(train)/pixels, len(test)/pixels), settings: []string{"eps", "sigma"}}
	for e := range vaeEpochs {
		s.header = append(s.header, fmt.Sprintf("loss %d", e+1))
	}
	s.header = append(s.header, "s an epoch")
	for _, epsilon := range []float64{0, 1, 4} {
		v := vae{train: train, test: test, hidden: 400, latent: 50, epochs: vaeEpochs, epsilon: epsilon, pictures: from.pictures}
		plan, err := v.options(0).Plan(0)
		if err != nil {
			return nil, err
		}
		s.arms = append(s.arms, arm{[]string{fmt.Sprint(epsilon), fmt.Sprintf("%.4f", plan.Multiplier)}, v.run, func(runs [][]float64) (row []string) {
			for e := range runs[0] {
				row = append(row, fmt.Sprintf("%.1f", stat.Mean(column(runs, e), nil)))
			}
			return row
		}})
	}
	return s, nil
}

// readImages reads the pixels of an IDX file, 16 bytes of head and a byte for each, as 0 or 1:
// a pixel of v is 1 with probability v/255.
func readImages(path string, seed uint64) ([]float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) < 16 || binary.BigEndian.Uint32(data) != 0x803 || string(data[8:16]) != "\x00\x00\x00\x1c\x00\x00\x00\x1c" ||
		len(data) != 16+pixels*int(binary.BigEndian.Uint32(data[4:])) || len(data) == 16 {
		return nil, fmt.Errorf("%s: no IDX file of images of 28 × 28 pixels, or not all of one", path)
	}
	rng, images := rand.New(rand.NewPCG(seed, 0x7661)), make([]float64, len(data)-16)
	for i, v := range data[16:] {
		if rng.Float64()*255 < float64(v) {
			images[i] = 1
		}
	}
	return images, nil
}

// vae is a setting: images x, latent variables z ~ N(0, I) that an encoder guesses,
//
//	q(z | x) = N(m, diag(e^{2s})),  h = softplus(W₁x + b₁), m = W₂h + b₂, s = W₃h + b₃,
//	p(x | z) = Bernoulli(σ(l)),     l = W₅ softplus(W₄z + b₄) + b₅,
//
// of which the evidence bound E log p(x | z) − KL(q ‖ N(0, I)) is maximised in W and b, with
// one z for each image of a batch: a point, with no prior.
type vae struct {
	train, test    []float64
	hidden, latent int
	epochs         int
	epsilon        float64 // 0 is without privacy
	pictures       string  // a folder
}

func (v *vae) options(seed uint64) *vi.Options {
	o := &vi.Options{Point: true, Rate: vaeBatch * pixels / float64(len(v.train)), LearningRate: 1e-3, Seed: seed, Trace: v.epochs}
	o.Steps = int(float64(v.epochs) / o.Rate)
	if v.epsilon > 0 {
		o.Clip = vaeClip
		o.Privacy = &vi.Privacy{Epsilon: v.epsilon, Delta: vaeDelta, Entropy: simulated(seed, entropyOfVI)}
	}
	return o
}

func (v *vae) model(images []float64) *vi.Model {
	m := &vi.Model{Records: len(images) / pixels}
	layer := func(name string, in, out int) {
		m.Parameters = append(m.Parameters, vi.Parameter{Name: "W" + name, Size: in * out, Columns: in}, vi.Parameter{Name: "b" + name, Size: out})
	}
	layer("1", pixels, v.hidden)
	layer("2", v.hidden, v.latent)
	layer("3", v.hidden, v.latent)
	layer("4", v.latent, v.hidden)
	layer("5", v.hidden, pixels)
	m.LogLik = func(t *vi.Tape) {
		x := t.Rows(images, pixels)
		h := affine(t, x, 0).Map(softplus)
		mean, logSD := affine(t, h, 1), affine(t, h, 2)
		sd := logSD.Map(func(s float64) (float64, float64) { e := math.Exp(s); return e, e })
		t.Factor(v.decode(t, mean.Plus(sd.Times(t.Normal(v.latent)))).With(x, func(l, x float64) (float64, float64, float64) {
			value, slope := softplus(l)
			return x*l - value, x - slope, 0
		}))
		t.Factor(mean.With(logSD, func(m, s float64) (float64, float64, float64) {
			variance := math.Exp(2 * s)
			return (1 + 2*s - m*m - variance) / 2, -m, 1 - variance
		}))
	}
	return m
}

// affine is Wx + b of the k-th layer.
func affine(t *vi.Tape, x *vi.Node, k int) *vi.Node { return t.Dense(x, 2*k).Plus(t.Param(2*k + 1)) }

// decode is l of z.
func (v *vae) decode(t *vi.Tape, z *vi.Node) *vi.Node {
	return affine(t, affine(t, z, 3).Map(softplus), 4)
}

// run returns the held-out loss after each epoch, and the seconds that one took. Weights start as
// N(0, 0.01²), as the authors' do.
func (v *vae) run(ctx context.Context, seed uint64) ([]float64, error) {
	o, m, rng := v.options(seed), v.model(v.train), rand.New(rand.NewPCG(seed, 0x7662))
	o.Start = make([]float64, m.Dim())
	for j := range o.Start {
		o.Start[j] = 0.01 * rng.NormFloat64()
	}
	began := time.Now()
	fit, err := vi.Run(ctx, m, *o)
	if err != nil {
		return nil, err
	}
	seconds, test, losses := time.Since(began).Seconds(), v.model(v.test), []float64(nil)
	for _, p := range fit.Trace {
		losses = append(losses, -stat.Mean(test.Evaluate(p.Mean, rand.New(rand.NewPCG(seed, 0x7663))), nil))
	}
	if v.pictures != "" {
		mean, _ := fit.Moments()
		name := strings.ReplaceAll(fmt.Sprintf("eps-%v-seed-%d.png", v.epsilon, seed), "eps-0-", "no-privacy-")
		if err := v.draw(filepath.Join(v.pictures, name), mean, rng); err != nil {
			return nil, err
		}
	}
	return append(losses, seconds/float64(v.epochs)), nil
}

// draw makes a picture of 8 × 8 images, the probabilities of pixels given a z from N(0, I).
func (v *vae) draw(path string, theta []float64, rng *rand.Rand) error {
	const side = 8
	z := make([]float64, side*side*v.latent)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	m, picture, at := *v.model(nil), image.NewGray(image.Rect(0, 0, side*28, side*28)), 0
	m.Records = side * side
	m.LogLik = func(t *vi.Tape) {
		for _, l := range v.decode(t, t.Rows(z, v.latent)).Value() {
			i, j := at/pixels, at%pixels
			picture.SetGray(i%side*28+j%28, i/side*28+j/28, color.Gray{Y: uint8(255 / (1 + math.Exp(-l)))})
			at++
		}
	}
	m.Evaluate(theta, nil)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, picture), f.Close())
}
