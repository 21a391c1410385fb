// Bayesian linear regression given noisy sufficient statistics, the
// individuals integrated out. p covariates, m = p + 1 columns v = (x, y), n rows.
//
//   sigma2 ~ InvGamma(a0, b0)        theta | sigma2 ~ N(mu0, sigma2 Lambda0^-1)
//   T ~ InvWishart(Psi0, nu0)        mu_x | T ~ N(m0, T / kappa0)
//   x_i ~ N(mu_x, T)                 y_i ~ N(theta' (1, x_i), sigma2)
//   z = (sums of v_j, sums of v_j v_k) + Laplace(scale) or Gaussian(scale) noise
//
// The rows are normal, so their mean and their scatter about it are independent,
// normal and Wishart. With T = U U',
//
//   mean = (mu_x, theta_1 + slopes' mu_x),   R = [ U          0     ]
//                                                [ slopes' U  sigma ],
//
// e standard normal and A lower triangular with A_ii^2 ~ chi2(n - i) and standard
// normals below the diagonal (Bartlett), the sample mean is mean + R e / sqrt(n)
// and the scatter (R A) (R A)'. The cost does not depend on n. All is non-centred.
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
  int<lower=p + 2> n;                            // else the scatter is singular
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
  vector[m] A_dof;
  for (i in 1:p) T_dof[i] = nu0 - i + 1;
  for (i in 1:m) A_dof[i] = n - i;
}
parameters {
  real<lower=0> sigma2;
  vector[m] theta_raw;
  vector[p] mu_raw;
  vector[p] T_raw;                               // log chi-squares, standardised
  vector[(p * (p - 1)) / 2] T_below;
  vector[m] e;
  vector[m] A_raw;                               // log chi-squares, standardised
  vector[(m * (m - 1)) / 2] A_below;
}
transformed parameters {
  vector[m] theta = mu0 + sqrt(sigma2) * (theta_factor * theta_raw);
}
model {
  // Bartlett: T^-1 ~ Wishart(Psi0^-1, nu0), so T = U U', U = Psi0_factor B^-T.
  vector[p] T_log_chi2 = log(T_dof) + sqrt(2 ./ T_dof) .* T_raw;
  matrix[p, p] U = mdivide_left_tri_low(bartlett(T_log_chi2, T_below), Psi0_factor')';
  vector[p] mu_x = m0 + U * mu_raw / sqrt(kappa0);
  vector[m] A_log_chi2 = log(A_dof) + sqrt(2 ./ A_dof) .* A_raw;
  matrix[m, m] R = rep_matrix(0, m, m);
  vector[m] mean_v = append_row(mu_x, theta[1] + dot_product(theta[2:m], mu_x));
  vector[m] sums;
  R[1:p, 1:p] = U;
  R[m, 1:p] = theta[2:m]' * U;
  R[m, m] = sqrt(sigma2);
  sums = n * mean_v + sqrt(n) * (R * e);

  sigma2 ~ inv_gamma(a0, b0);
  theta_raw ~ std_normal();
  mu_raw ~ std_normal();
  T_log_chi2 ~ log_chi2(T_dof);
  T_below ~ std_normal();
  e ~ std_normal();
  A_log_chi2 ~ log_chi2(A_dof);
  A_below ~ std_normal();
  {
    matrix[m, m] products = tcrossprod(R * bartlett(A_log_chi2, A_below)) + sums * (sums / n)';
    vector[rows(z)] s = entries(sums, products);
    if (gaussian)
      z ~ normal(s, scale);
    else
      z ~ double_exponential(s, scale);
  }
}
