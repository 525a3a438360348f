// Random federations of which clients are absent, against lower bounds that share no code with the
// accountants.
#ifndef TACET_ACCOUNTING_ABSENT_CAMPAIGN_FOR_TEST_H_
#define TACET_ACCOUNTING_ABSENT_CAMPAIGN_FOR_TEST_H_

namespace tacet::accounting {

struct AbsentChecked {
  int settings = 0;
  int attained = 0;    // with an epsilon above 0 that some number of clients here attains
  int close = 0;       // of these, with one above 0.85 of the guaranteed one
  double slowest = 0;  // CPU seconds of one setting's bounds
};

// Draws `count` federations (clients 4 to 4000, rate 0.02 to 0.9, K_min / K from 0.5 to 1 or the
// default, noise multiplier 0.8 to 30, rounds 1 to 100, delta 1e-9 to 1e-2; cohorts by coins and of
// fixed size, both neighbours, an external observer or a participant), each with a share of clients
// here from (0, 1] and with one for which rounds rarely fail. Checks that the smallest proved
// epsilon is not below what is attained with either.
AbsentChecked CheckAbsentClients(int count, int seed);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_ABSENT_CAMPAIGN_FOR_TEST_H_
