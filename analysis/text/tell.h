// What is not the answer: lines on stderr, that begin with our name and are safe to print whatever is in
// them. On a terminal with colours our name has one. Any thread.
#pragma once

#include <string>

namespace gpushim::analysis {

void tell(const std::string& text);
void tell_error(const std::string& text);  // what has ended the command

}  // namespace gpushim::analysis
