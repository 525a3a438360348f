// Generator of invented patients, for demonstrations and tests without data.
#ifndef TACET_DATA_PATIENTS_H_
#define TACET_DATA_PATIENTS_H_

#include <cstdint>
#include <string>

namespace tacet::data {

struct PatientsSpec {
  uint64_t hospital = 0;
  uint64_t patients = 1000;
  uint64_t seed = 1;
};

// A CSV table with a header and a row for each patient: age (years, 18 to 100), sbp (systolic blood
// pressure, mmHg, 70 to 230), chol (cholesterol, mg/dl, 80 to 500; empty where it was not
// measured), smoker (0 or 1) and ill (0 or 1). The score
//
//   0.09 (age - 58) + 0.05 (sbp - 134) + 0.02 (chol - 210) + 1.5 (smoker - 0.3) + 1.5 noise
//
// is positive for the ill ones, where `noise` has mean 0 and variance 1. Hospitals differ in the
// age of their patients, and in how often cholesterol is measured. The same spec gives the same
// bytes on every machine.
std::string DrawPatients(const PatientsSpec& spec);

}  // namespace tacet::data

#endif  // TACET_DATA_PATIENTS_H_
