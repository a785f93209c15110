// Numbers as people read them, in a fixed width of digits: 1,234 calls, 4.10 us, 46.8 MB, 25.0 GB/s.
#pragma once

#include <cstdint>
#include <string>

namespace gpushim::analysis {

std::string count_text(int64_t count);
std::string duration_text(double ns);
std::string bytes_text(double bytes);   // powers of 1000
std::string memory_text(double bytes);  // powers of 1024: GiB
std::string rate_text(double bytes_per_s);
std::string time_text(int64_t real_ns);  // 2026-01-31 12:00:00 UTC

}  // namespace gpushim::analysis
