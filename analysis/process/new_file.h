// A file that is made beside its place, and moved there when it is whole. Files that processes left which
// died over them are removed as the next one for the same place is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "unfinished.h"

namespace gpushim::analysis {

class NewFile {
  public:
    // Empty, new and for its owner alone: where others may write, too, a name that they could know might be a
    // link that leads elsewhere. There is no link in its path. Throws Unwritable, which names the place.
    explicit NewFile(const std::filesystem::path& place);
    ~NewFile();  // not moved: nothing is left
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    const std::filesystem::path& path() const { return made_->path(); }
    void write(uint64_t at, std::string_view bytes) const;  // throws Unwritable
    std::string read(uint64_t at, size_t bytes) const;      // that were written; throws Unwritable
    void move_to_place();                                   // throws Unwritable

  private:
    std::filesystem::path place_;
    int locked_ = -1;  // open as long as we live: so another process sees that its maker is not dead
    std::optional<Unfinished> made_;
};

// A device, a FIFO or a socket: it can be written to, but never replaced.
bool is_no_place_for_a_file(const std::filesystem::path& place);

}  // namespace gpushim::analysis
