// Names and versions of this program's components, as it was configured.
#ifndef TACET_AUDIT_SOFTWARE_H_
#define TACET_AUDIT_SOFTWARE_H_

#include <string>
#include <string_view>
#include <vector>

namespace tacet::audit {

struct Dependency {
  std::string name;
  std::string version;
};

// The project's version. CMakeLists.txt writes the definitions.
std::string_view SoftwareVersion();

// The compiler and every library that the program stands on, with the versions that were found;
// "unknown" where a library does not say.
std::vector<Dependency> SoftwareDependencies();

}  // namespace tacet::audit

#endif  // TACET_AUDIT_SOFTWARE_H_
