// A text file that is written in one go, as it is or, where its name ends in .gz, as gzip: beside its place,
// and moved there when it is whole. The same text makes the same bytes. Throws Failure with the file's name.
// One thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

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
    [[noreturn]] void fail() const;

    std::filesystem::path place_, made_;
    std::string waiting_;
    gzFile_s* file_;
};

}  // namespace gpushim::analysis
