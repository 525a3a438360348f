// Peak rates of one core of this machine, measured with the figures that are compared with them.
#ifndef TACET_LAB_BENCH_MACHINE_RATES_H_
#define TACET_LAB_BENCH_MACHINE_RATES_H_

namespace tacet::app::bench {

struct MachineRates {
  double memory_read = 0;  // bytes a second, from a region that no cache holds
  double aes_ctr = 0;      // bytes of key stream a second, AES-256
  double fma = 0;          // double multiply-adds a second, all lanes of the active instruction set
};

// Takes about half a second. Medians.
MachineRates MeasureMachineRates();

// The rate of multiply-adds alone, by the processor time of the calling thread; takes a few
// hundredths of a second.
double MeasureFma();

// Least resources that a piece of work needs.
struct Demand {
  double memory_bytes = 0;  // read from memory
  double aes_bytes = 0;     // of key stream
  double fmas = 0;          // or products, or sums: what takes a slot of the multiply-add units
};

Demand operator+(const Demand& a, const Demand& b);
Demand operator*(double times, const Demand& demand);

// The least seconds in which a core with these rates meets the demand: arithmetic and AES share the
// vector units, reading continues meanwhile.
double LeastSeconds(const Demand& demand, const MachineRates& rates);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_MACHINE_RATES_H_
