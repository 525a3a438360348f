// Version of the library.
#ifndef TACET_VERSION_H_
#define TACET_VERSION_H_

#include <string_view>

namespace tacet {

// Version of the library that the program runs with, "MAJOR.MINOR.PATCH". Before 1.0 a new minor
// version may change the interface and the messages.
std::string_view Version();

}  // namespace tacet

#endif  // TACET_VERSION_H_
