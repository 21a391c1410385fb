// Package variate draws from the distributions that the samplers need and
// that gonum lacks or draws too slowly: gamma, the mixing law of the
// Laplace distribution, Wishart and inverse Wishart factors.
//
// All randomness comes from the caller's *rand.Rand; nothing allocates.
package variate
