// Files that a first step writes: none replaces another.
#ifndef TACET_APPS_TACET_FIRST_STEPS_NEW_FILES_H_
#define TACET_APPS_TACET_FIRST_STEPS_NEW_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tacet::app::first_steps {

struct NewFile {
  std::filesystem::path path;  // below the folder
  std::string text;
};

// Tables of four invented hospitals, patients/NAME.csv, of 1,000 patients each (data/patients.h).
std::vector<NewFile> PatientTables();

// Writes all files below `folder`, which is made where it is missing. AlreadyExists names one that
// is there; nothing is written then.
absl::Status WriteNewFiles(const std::filesystem::path& folder, const std::vector<NewFile>& files);

}  // namespace tacet::app::first_steps

#endif  // TACET_APPS_TACET_FIRST_STEPS_NEW_FILES_H_
