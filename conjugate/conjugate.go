// Package conjugate holds the two conjugate families of the regression model:
// NIG, normal-inverse-gamma, for the coefficients and the residual variance,
// and NIW, normal-inverse-Wishart, for the mean and covariance of the
// covariates. Both update on sufficient statistics, give densities and
// moments, are drawn from, and change units by affine maps.
package conjugate
