// Python's frames as rows: each code once, and each line of it once for each caller, so that a stack is the
// number of its innermost frame. Bounded in number and in bytes; of a stack that has no place nothing is
// kept. The writer's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "../schema/rows.h"
#include "stack.h"

namespace gpushim::shim {

struct FrameLimits {
    size_t frames, codes, text_bytes;
};
// By the size that the trace may have: a 64th of it at most.
FrameLimits frame_limits(int64_t max_bytes);

class Frames {
  public:
    enum class Kept : uint8_t { yes, no_place, moved };

    explicit Frames(FrameLimits most) : most_(most) {}

    // `id`: of the innermost.
    Kept id_of(const Python& python, const PythonStack& stack, int64_t now_ns, int64_t& id);
    Rows& codes() { return codes_; }
    Rows& frames() { return frames_; }

  private:
    using Seen = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, int64_t>;
    using Code = std::tuple<std::string, std::string, int64_t>;  // file, name, first line
    using Frame = std::tuple<int64_t, int64_t, int64_t>;         // caller, code, line

    // 0: no place; nullopt: it has gone.
    std::optional<int64_t> code_of(const Python& python, const PythonFrame& frame);
    int64_t line_of(const Python& python, const PythonFrame& frame);
    int64_t add(const Code& code);
    int64_t add(const Frame& frame);
    void forget_addresses(int64_t now_ns);

    const FrameLimits most_;
    size_t text_bytes_ = 0;
    std::map<Code, int64_t> code_ids_;
    std::map<Frame, int64_t> frame_ids_;
    // By where they are in memory: that may become another's.
    std::map<Seen, int64_t> seen_codes_;
    std::map<std::pair<Seen, uint64_t>, int64_t> seen_lines_;
    int64_t forgot_ns_ = 0;
    RowsOf<row::python_code> codes_;
    RowsOf<row::python_frame> frames_;
};

}  // namespace gpushim::shim
