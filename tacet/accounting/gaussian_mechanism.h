// The Gaussian mechanism without sampling, in closed form (Balle, Wang 2018, theorem 8): n releases
// of sensitivity D with noise sigma are one with mu = sqrt(n) D / sigma, and
//   delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
#ifndef TACET_ACCOUNTING_GAUSSIAN_MECHANISM_H_
#define TACET_ACCOUNTING_GAUSSIAN_MECHANISM_H_

namespace tacet::accounting {

// log delta(epsilon), mu > 0, epsilon >= 0; 0 for mu = infinity.
double GaussianLogDelta(double mu, double epsilon);

// The smallest epsilon >= 0 with delta(epsilon) <= delta, never below it and above it by at most
// 1e-9 max(1, epsilon). 0 only where delta(0) <= delta (or mu = 0); infinity for mu = infinity.
double GaussianEpsilon(double mu, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_GAUSSIAN_MECHANISM_H_
