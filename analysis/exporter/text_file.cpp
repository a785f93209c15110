#include "text_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "../failure.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {
constexpr size_t kBlockBytes = 256 << 10;
}

// T: as it is, without gzip around it.
TextFile::TextFile(fs::path place) : place_(std::move(place)) {
    if (!is_no_place_for_a_file(place_)) made_.emplace(place_);
    const fs::path& opened = made_ ? made_->path() : place_;
    file_ = gzopen(opened.c_str(), place_.extension() == ".gz" ? "wb3" : "wbT");
    if (file_ == nullptr) throw Unwritable(place_.string() + ": " + std::strerror(errno));
}

TextFile::~TextFile() {
    if (file_ != nullptr) gzclose(file_);
}

// The reader of a pipe that has gone had what it wanted.
void TextFile::stop(int error) {
    if (error != EPIPE) throw Unwritable(place_.string() + ": cannot be written: " + std::strerror(error));
    is_read_ = false;
}

void TextFile::flush() {
    const auto size = static_cast<unsigned>(waiting_.size());
    if (is_read_ && size > 0 && gzwrite(file_, waiting_.data(), size) != static_cast<int>(size)) stop(errno);
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
    if (code != Z_OK && is_read_) stop(errno);
    if (made_) made_->move_to_place();
}

}  // namespace gpushim::analysis
