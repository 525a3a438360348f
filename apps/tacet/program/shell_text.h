// Command line in the text of a message, to be copied into a shell.
#ifndef TACET_APPS_TACET_PROGRAM_SHELL_TEXT_H_
#define TACET_APPS_TACET_PROGRAM_SHELL_TEXT_H_

#include <string>
#include <vector>

namespace tacet::app::program {

// The words with spaces between; a word with a character that a shell may read otherwise is quoted.
std::string ShellText(const std::vector<std::string>& words);

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_SHELL_TEXT_H_
