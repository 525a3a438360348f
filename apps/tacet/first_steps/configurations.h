// Configurations of configs/ that the program contains.
#ifndef TACET_APPS_TACET_FIRST_STEPS_CONFIGURATIONS_H_
#define TACET_APPS_TACET_FIRST_STEPS_CONFIGURATIONS_H_

#include <string_view>

namespace tacet::app::first_steps {

std::string_view TablesConfiguration();   // start-csv.toml
std::string_view ImagesConfiguration();   // demo-drawn.toml
std::string_view WritersConfiguration();  // demo.toml

}  // namespace tacet::app::first_steps

#endif  // TACET_APPS_TACET_FIRST_STEPS_CONFIGURATIONS_H_
