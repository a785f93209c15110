// A text file that is written in one go, as it is or, where its name ends in .gz, as gzip: beside its place,
// and moved there when it is whole. A device or a pipe (/dev/stdout) is written to as it is. The same text
// makes the same bytes. Throws Failure with the file's name. One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "../process/new_file.h"

struct gzFile_s;

namespace gpushim::analysis {

class TextFile {
  public:
    explicit TextFile(std::filesystem::path place);
    ~TextFile();  // without finish nothing is left
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

    void write(std::string_view text);
    void finish();

  private:
    void flush();
    void stop(int error);

    std::filesystem::path place_;
    std::optional<NewFile> made_;  // none: the place is no file
    std::string waiting_;
    gzFile_s* file_ = nullptr;
    bool is_read_ = true;  // false: it was a pipe whose reader has gone
};

}  // namespace gpushim::analysis
