// Fixture of tests that run tacet-lab as its users do.
#ifndef TACET_LAB_LAB_PROGRAM_FOR_TEST_H_
#define TACET_LAB_LAB_PROGRAM_FOR_TEST_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/integration/program_for_test.h"

namespace tacet::app {

class LabProgramTest : public ProgramTest {
 protected:
  // Runs `tacet-lab ARGUMENTS`.
  Outcome Lab(std::vector<std::string> arguments) { return Run(TACET_LAB, std::move(arguments)); }
};

}  // namespace tacet::app

#endif  // TACET_LAB_LAB_PROGRAM_FOR_TEST_H_
