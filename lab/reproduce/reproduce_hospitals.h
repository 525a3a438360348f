// Experiment on the patients of four hospitals: federated training with record-level privacy,
// next to each hospital alone, all data in one place, and client-level privacy.
#ifndef TACET_LAB_REPRODUCE_REPRODUCE_HOSPITALS_H_
#define TACET_LAB_REPRODUCE_REPRODUCE_HOSPITALS_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"

namespace tacet::app::reproduce {

struct HospitalsFlags {
  std::string config = "configs/heart-disease.toml";  // data's columns and the record-level recipe
  std::string data;                                   // folder with one file a hospital
  std::string out = "runs/hospitals";                 // hospitals.json, .csv, .svg are written here
  uint64_t seeds = 10;        // at least 2; seed i fixes the split and all draws of its trainings
  uint64_t first_seed = 101;  // seeds below were used to choose the recipes
  uint64_t threads = 0;       // 0: all processors; results do not depend on it
  bool encrypt = false;       // seal and open every sum; the same results, ten times as slow
  std::string command = "tacet-lab reproduce hospitals --data DIR";  // stored with the results
  std::FILE* progress = stdout;
};

struct HospitalsResult {
  base::JsonValue json;
  std::string text;  // a table for people; files are written already
};

// For every seed: a fifth of each hospital's patients is held out, every variant is trained on the
// rest and judged on the held-out patients of all hospitals, and of each hospital by itself. With
// leave-one-out a hospital is judged on all of its patients by what the others learnt without it.
// Trainings draw their coins and their noise from seeds, so that the same numbers come out again,
// and are labelled so.
absl::StatusOr<HospitalsResult> ReproduceHospitals(const HospitalsFlags& flags);

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_REPRODUCE_HOSPITALS_H_
