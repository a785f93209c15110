// A small text file that is written again and again: a reader finds one whole text or another. It is
// written under a name beside it, which then takes its place. Nothing is synced: after a power loss the next
// text comes soon. What was written last stays open and locked, so that two processes of one name find out.
// The writer's thread only; nothing throws.
#pragma once

#include <string_view>

namespace gpushim::shim {

class TextFile {
  public:
    TextFile() = default;
    ~TextFile();
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

    // 0, or errno's number; then the text of before is still there. `mode` whatever the umask says.
    int replace(const char* path, std::string_view text, unsigned mode);
    // A process that lives has written what is there: not this one. Where the file system has no locks nobody
    // has.
    bool is_anothers(const char* path) const;
    // If it is there and ours.
    void remove(const char* path);

  private:
    bool is_there(const char* path) const;

    int file_ = -1;  // what was written last
};

}  // namespace gpushim::shim
