// What shells offer while somebody types a command line of `gpushim`: a file for bash, zsh or fish, made from
// the commands and options themselves. One thread.
#pragma once

#include <string>

namespace gpushim::analysis {

void print_completions(const std::string& shell);  // throws Failure for another shell

}  // namespace gpushim::analysis
