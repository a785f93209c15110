// Which operators of a framework, and which of a model's modules, a thread is in when it launches something.
// They are told in order of time. Of backward, the operator of forward that it belongs to is found by its
// sequence number.
//
//   thread 1   |── module ─ |── op, 7 ── launch ──| ──|
//   thread 2                                             |── backward, 7 ── |─ op ─ launch ─| ──|
//
// Memory is that of what is open, and of the last quarter of a million sequence numbers. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "imported_row.h"

namespace gpushim::analysis {

// Of ImportedRow::direction, where a row is of an operator.
enum class ImportedOperator : uint8_t { plain, backward, module };

class OpenOperators {
  public:
    static constexpr int32_t kNone = -1;
    enum Pass : uint8_t { not_told, forward, backward };
    struct Inside {
        int32_t name = kNone, module = kNone, forward = kNone;
        Pass pass = not_told;
        bool is_told() const { return name != kNone || module != kNone; }
    };

    // thread: as the source numbers it. number: the sequence number, or kNotThere.
    void open(int64_t thread, const ImportedRow& row);
    Inside at(int64_t thread, int64_t now_ns);
    bool empty() const { return open_.empty(); }

  private:
    static constexpr size_t kRemembered = size_t{1} << 18, kBlock = 4096;
    struct Open {
        int64_t end_ns, sequence;
        int32_t name;
        ImportedOperator is;
    };
    struct Forward {
        int64_t sequence = kNotThere, thread = 0, end_ns = 0;
        int32_t name = kNone, module = kNone;
        bool is_ambiguous = false;
    };
    void remember(int64_t thread, const ImportedRow& row, const std::vector<Open>& around);
    const Forward* forward_of(int64_t sequence) const;

    using Block = std::array<Forward, kBlock>;
    std::unordered_map<int64_t, std::vector<Open>> open_;  // by thread, the innermost last
    // By sequence number, as far as there is room; blocks without a number that came are not there.
    std::array<std::unique_ptr<Block>, kRemembered / kBlock> forward_;
};

}  // namespace gpushim::analysis
