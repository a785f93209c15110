// Strings that live as long as the process, one copy each: names of kernels. Any thread.
#pragma once

#include <string_view>

namespace gpusim {

const char* intern(std::string_view text);

}  // namespace gpusim
