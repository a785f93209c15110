// Files that are valid but for some places: a base file and a script of what to change in it, so that inputs
// are a few bytes and what they break lies deep. Bases are made by the runner (`run`), in the folder that
// FUZZ_BASES names. One thread.
//
//   base  | SQLite …        |     script  | write 4 bytes at 0x2010 | UPDATE launch … | cut at 0x8000 |
#pragma once

#include <string>
#include <string_view>

namespace fuzz {

// The bytes of a base file; empty where there are no bases.
std::string base_file(const char* name);

// Statements, first, then bytes: what changed pages say is never looked at by our own SQLite.
std::string patched(const std::string& base, std::string_view script);

}  // namespace fuzz
