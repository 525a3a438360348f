// Nearly normal random number from exact arithmetic, for data that the program draws.
#ifndef TACET_DATA_WOBBLE_H_
#define TACET_DATA_WOBBLE_H_

#include <cmath>

#include "tacet/crypto/random.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::data {

// Mean 0 and variance 1, within +-3.5: the sum of four uniforms. It is the same to the bit on every
// machine, because IEEE 754 fixes addition, multiplication and square root.
inline double Wobble(crypto::Random& random) {
  double sum = -2;
  for (int i = 0; i < 4; ++i) sum += crypto::Uniform(random);
  return sum * std::sqrt(3.0);
}

}  // namespace tacet::data

#endif  // TACET_DATA_WOBBLE_H_
