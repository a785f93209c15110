// SHA-256 (FIPS 180-4), for what a page's content policy allows. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gpushim::analysis {

std::string sha256(std::string_view bytes);  // 32 bytes
std::string base64(std::string_view bytes);

}  // namespace gpushim::analysis
