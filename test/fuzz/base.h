// A whole file of ours or of another tool that scripts damage, so that inputs are a few bytes and what they
// break lies deep. It is held in memory and is as it was after each input. Bases are made by the runner
// (seeds.py), in the folder that FUZZ_BASES names. One thread.
//
//   base  | SQLite …        |     script  | UPDATE launch … | write 4 bytes at 0x2010 | cut at 0x8000 |
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "statements.h"

namespace fuzz {

class Base {
  public:
    explicit Base(const char* name);

    // The file that a script makes of it: statements first, then bytes, for what changed pages say is never
    // looked at by our own SQLite. A script that begins as SQLite's files do is the file itself.
    std::string patched(std::string_view script);

    // Does `work` while some of its values are others.
    void with_values(Script script, const std::function<void()>& work);
    // These; whoever takes them away keeps them as long as this object is used.
    gpushim::analysis::Database& rows() { return memory_; }

  private:
    gpushim::analysis::Database memory_;
    sqlite3* raw_;
    std::string bytes_;
    Inventory inventory_;
};

// Bytes of anything, overwritten and cut off.
void patch(std::string& bytes, Script script);

}  // namespace fuzz
