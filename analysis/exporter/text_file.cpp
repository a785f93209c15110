#include "text_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "../failure.h"
#include "../process/new_file.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {
constexpr size_t kBlockBytes = 256 << 10;
}

// T: as it is, without gzip around it.
TextFile::TextFile(fs::path place)
    : place_(std::move(place)),
      made_(new_file_beside(place_)),
      file_(gzopen(made_.c_str(), place_.extension() == ".gz" ? "wb3" : "wbT")) {
    if (file_ == nullptr) throw Failure(place_.string() + ": " + std::strerror(errno), kIncomplete);
}

TextFile::~TextFile() {
    if (file_ != nullptr) gzclose(file_);
    std::error_code ignored;
    fs::remove(made_, ignored);
}

void TextFile::fail() const {
    throw Failure(place_.string() + ": cannot be written (is the disk full?)", kIncomplete);
}

void TextFile::flush() {
    const auto size = static_cast<unsigned>(waiting_.size());
    if (size > 0 && gzwrite(file_, waiting_.data(), size) != static_cast<int>(size)) fail();
    waiting_.clear();
}

void TextFile::write(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() >= kBlockBytes) flush();
}

void TextFile::finish() {
    flush();
    const int code = gzclose(file_);
    file_ = nullptr;
    if (code != Z_OK) fail();
    std::error_code error;
    fs::rename(made_, place_, error);
    if (error) throw Failure(place_.string() + ": " + error.message(), kIncomplete);
}

}  // namespace gpushim::analysis
