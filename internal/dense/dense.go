// Package dense holds the small dense kernels of the samplers: triangular
// factors, solves, products and eigenvalues of matrices of dimension 2 to 80.
//
// Every matrix is a flat row-major slice with a stride equal to its number of
// columns; every result goes into a slice of the caller's, first in the list of
// arguments. Nothing allocates. A slice that is too short panics: shapes are
// the programmer's affair. What the data decide, such as a matrix that is not
// positive definite, is a result.
//
// Unless a docstring says otherwise, dst may not overlap the inputs.
package dense
