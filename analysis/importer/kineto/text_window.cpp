#include "text_window.h"

#include <algorithm>
#include <cstring>

namespace gpushim::analysis {

namespace {
constexpr size_t kAtOnce = 256 << 10;
}

TextWindow::TextWindow(InputStream& input, size_t most)
    : input_(input),
      most_(most),
      room_(std::min(2 * kAtOnce, most) + 1),
      buffer_(std::make_unique_for_overwrite<char[]>(room_)) {
    buffer_[0] = '\0';
}

bool TextWindow::more() {
    if (full()) return false;
    end_ -= begin_;
    std::unique_ptr<char[]> larger;
    if (end_ * 2 > room_) {
        room_ = std::min(2 * room_, most_ + 1);
        larger = std::make_unique_for_overwrite<char[]>(room_);
    }
    char* const to = larger ? larger.get() : buffer_.get();
    std::memmove(to, buffer_.get() + begin_, end_);
    begin_ = 0;
    if (larger) buffer_ = std::move(larger);
    const size_t got = input_.read(buffer_.get() + end_, std::min(room_ - 1 - end_, kAtOnce));
    end_ += got;
    read_ += got;
    buffer_[end_] = '\0';
    return got > 0;
}

}  // namespace gpushim::analysis
