#include "text_window.h"

#include <algorithm>
#include <cstring>

namespace gpushim::analysis {

namespace {
constexpr size_t kBlock = 256 << 10;
}

TextWindow::TextWindow(InputStream& input, size_t most)
    : input_(input), buffer_(std::min(2 * kBlock, most) + 1), most_(most) {}

bool TextWindow::more() {
    if (full()) return false;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ * 2 > buffer_.size()) buffer_.resize(std::min(2 * buffer_.size(), most_ + 1));
    const size_t got = input_.read(buffer_.data() + end_, std::min(buffer_.size() - 1 - end_, kBlock));
    end_ += got;
    read_ += got;
    buffer_[end_] = '\0';
    return got > 0;
}

}  // namespace gpushim::analysis
