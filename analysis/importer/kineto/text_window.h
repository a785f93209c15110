// The part of a stream that is looked at: text is taken from its front and read in behind it. It never holds
// more than `most` bytes. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "input_stream.h"

namespace gpushim::analysis {

class TextWindow {
  public:
    TextWindow(InputStream& input, size_t most);

    std::string_view text() const { return {buffer_.get() + begin_, end_ - begin_}; }  // '\0' is behind it
    void take(size_t count) { begin_ += count; }
    bool more();  // false: the stream is at its end, or the window is full
    bool full() const { return end_ - begin_ == most_; }
    uint64_t position() const { return read_ - (end_ - begin_); }  // of the text's front in the stream

  private:
    InputStream& input_;
    size_t most_, room_;
    std::unique_ptr<char[]> buffer_;  // of `room_` bytes
    size_t begin_ = 0, end_ = 0;
    uint64_t read_ = 0;
};

}  // namespace gpushim::analysis
