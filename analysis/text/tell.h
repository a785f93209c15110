// What is not the answer: lines on stderr, that begin with our name and are safe to print whatever is in
// them.
#pragma once

#include <string>

namespace gpushim::analysis {

void tell(const std::string& text);

}  // namespace gpushim::analysis
