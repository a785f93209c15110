// What is not the answer: lines on stderr, that begin with our name and are safe to print whatever is in
// them. Each goes out whole, and behind the lines of the answer that were printed before it. On a terminal
// with colours our name has one. Any thread.
#pragma once

#include <span>
#include <string>

namespace gpushim::analysis {

void stderr_line(const std::string& text);
void tell_error(const std::string& text);  // what has ended the command
// A line for each of the first few, and one of how many more there are.
void tell_few(const std::string& what, std::span<const std::string> texts);

}  // namespace gpushim::analysis
