// Bayesian linear regression given noisy sufficient statistics, every
// individual latent. p covariates, m = p + 1 columns v = (x, y), n rows.
//
//   sigma2 ~ InvGamma(a0, b0)        theta | sigma2 ~ N(mu0, sigma2 Lambda0^-1)
//   T ~ InvWishart(Psi0, nu0)        mu_x | T ~ N(m0, T / kappa0)
//   x_i ~ N(mu_x, T)                 y_i ~ N(theta' (1, x_i), sigma2)
//   z = (sums of v_j, sums of v_j v_k) + Laplace(scale) or Gaussian(scale) noise
//
// All is non-centred: with T = U U' and v_i = mean + R e_i, where
//
//   mean = (mu_x, theta_1 + slopes' mu_x),   R = [ U          0     ]
//                                                [ slopes' U  sigma ],
//
// the individuals are the standard normal e_i. The sums over v_i follow from those
// over e_i, so that no v_i is formed: a gradient is three times as quick at n = 1000.
functions {
  // What a release holds of m columns: their sums, then the sums of products of
  // columns j <= k, row by row.
  vector entries(vector sums, matrix products) {
    int m = rows(sums);
    vector[m + (m * (m + 1)) / 2] s;
    int last = m;
    s[1:m] = sums;
    for (j in 1:m) {
      s[(last + 1):(last + m - j + 1)] = products[j:m, j];
      last += m - j + 1;
    }
    return s;
  }

  // Lower-triangular A with A_ii^2 = exp(log_chi2_i); the rest in order of rows.
  matrix bartlett(vector log_chi2, vector below) {
    int d = rows(log_chi2);
    matrix[d, d] A = diag_matrix(exp(0.5 * log_chi2));
    int last = 0;
    for (i in 2:d) {
      A[i, 1:(i - 1)] = below[(last + 1):(last + i - 1)]';
      last += i - 1;
    }
    return A;
  }

  // Density of the logarithm of a chi-square variable, up to a constant.
  real log_chi2_lpdf(vector l, vector dof) {
    return 0.5 * (dot_product(dof, l) - sum(exp(l)));
  }
}
data {
  int<lower=1> p;
  int<lower=1> n;
  int<lower=0, upper=1> gaussian;                // noise: 0 Laplace, 1 Gaussian
  real<lower=0> scale;                           // Laplace scale, or standard deviation
  vector[p + 1 + ((p + 1) * (p + 2)) / 2] z;
  vector[p + 1] mu0;                             // intercept first
  matrix[p + 1, p + 1] Lambda0;                  // a precision
  real<lower=0> a0;
  real<lower=0> b0;
  vector[p] m0;
  real<lower=0> kappa0;
  matrix[p, p] Psi0;
  real<lower=p - 1> nu0;
}
transformed data {
  int m = p + 1;
  matrix[m, m] theta_factor = inverse(cholesky_decompose(Lambda0))';  // F F' = Lambda0^-1
  matrix[p, p] Psi0_factor = cholesky_decompose(Psi0);
  vector[p] T_dof;
  for (i in 1:p) T_dof[i] = nu0 - i + 1;
}
parameters {
  real<lower=0> sigma2;
  vector[m] theta_raw;
  vector[p] mu_raw;
  vector[p] T_raw;                               // log chi-squares, standardised
  vector[(p * (p - 1)) / 2] T_below;
  matrix[n, m] e;                                // an individual a row
}
transformed parameters {
  vector[m] theta = mu0 + sqrt(sigma2) * (theta_factor * theta_raw);
}
model {
  // Bartlett: T^-1 ~ Wishart(Psi0^-1, nu0), so T = U U', U = Psi0_factor B^-T.
  vector[p] T_log_chi2 = log(T_dof) + sqrt(2 ./ T_dof) .* T_raw;
  matrix[p, p] U = mdivide_left_tri_low(bartlett(T_log_chi2, T_below), Psi0_factor')';
  vector[p] mu_x = m0 + U * mu_raw / sqrt(kappa0);
  vector[m] mean_v = append_row(mu_x, theta[1] + dot_product(theta[2:m], mu_x));
  matrix[m, m] R = rep_matrix(0, m, m);
  vector[m] R_sums;                              // R times the sums of e
  vector[m] sums;
  R[1:p, 1:p] = U;
  R[m, 1:p] = theta[2:m]' * U;
  R[m, m] = sqrt(sigma2);
  R_sums = R * (rep_row_vector(1, n) * e)';
  sums = n * mean_v + R_sums;

  sigma2 ~ inv_gamma(a0, b0);
  theta_raw ~ std_normal();
  mu_raw ~ std_normal();
  T_log_chi2 ~ log_chi2(T_dof);
  T_below ~ std_normal();
  to_vector(e) ~ std_normal();
  {
    matrix[m, m] products = quad_form_sym(crossprod(e), R') + R_sums * mean_v' + mean_v * sums';
    vector[rows(z)] s = entries(sums, products);
    if (gaussian)
      z ~ normal(s, scale);
    else
      z ~ double_exponential(s, scale);
  }
}
