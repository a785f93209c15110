// Whether what is copied to the device is what was read back last: a language model's tokens come in again.
// Pure; tokens in order of time.
#pragma once

#include "token.h"

namespace gpushim::analysis {

inline constexpr int64_t kMostTokenBytes = 65'536;  // of what was sampled in one iteration

// What is copied to the device and back, in bytes, from one read-back to the next.
//
//   decode     h 64  h 64  k k k  d 64  s      what was sampled before is the input, or part of it
//   prefill    h 1904      k k k  d 8   s      a prompt of many tokens, and one that was sampled
class Fed {
  public:
    // Whether this copy brings back what was read back last.
    bool next(const Token& token) {
        if (token.kind == TokenKind::sync && token.bytes != 0) read_bytes_ = token.bytes;
        return token.kind == TokenKind::copy_h2d && token.bytes == read_bytes_ && read_bytes_ > 0 &&
               read_bytes_ <= kMostTokenBytes;
    }

  private:
    int64_t read_bytes_ = 0;
};

}  // namespace gpushim::analysis
