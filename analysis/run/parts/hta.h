// The sums of HolisticTraceAnalysis, by its own definitions, of operations in the order in which they ran.
// Pure.
//
//   compute   |=====|      |===|         busy: their union; overlap: where both kinds run
//   comm          |==========|
//   window    |────────────────|         first start to last end; what is neither is idle
//
// For each stream, the gap before an operation is host_wait if its launch call began after the operation
// before had ended, else kernel_wait below 30 us, else other. Only the operation directly before counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "../../trace/call.h"

namespace gpushim::analysis {

enum class HtaKind : uint8_t { compute, comm, other };
// By a kernel's name, with that tool's patterns. Copies and memsets are other.
HtaKind hta_kind(std::string_view kernel);

struct HtaOperation {
    int64_t start_ns, end_ns;
    int64_t launched_ns;  // kNotRecorded: its call is not known
    int64_t stream;
    HtaKind kind;
};

class HtaSums {
  public:
    void add(const HtaOperation& operation) {  // by start
        if (operation.start_ns < last_start_ns_)
            add_out_of_order(operation.start_ns);
        else
            last_start_ns_ = operation.start_ns;
        ++operations;
        last_end_ns = std::max(last_end_ns, operation.end_ns);
        const auto [begin, end] = extend(all_, operation);
        if (end > begin) busy_ns += end - begin;
        if (operation.kind != HtaKind::other) add_class(operation);
        add_gap(operation);
    }

    struct Gap {
        int64_t ns = 0, gaps = 0;
    };
    int64_t window_ns() const { return operations ? last_end_ns - first_start_ns : 0; }

    int64_t operations = 0, first_start_ns = 0, last_end_ns = 0;
    int64_t busy_ns = 0, compute_ns = 0, comm_ns = 0, overlap_ns = 0;
    int64_t out_of_order = 0;
    // By category of each stream; those that did not come are left out.
    std::map<std::pair<int64_t, std::string_view>, Gap> gaps() const;

  private:
    struct Union {  // of operations so far: where its last piece lies
        int64_t start_ns = INT64_MIN, end_ns = INT64_MIN;
    };
    static constexpr int64_t kKernelWaitNs = 30'000;
    enum Category : size_t { kHostWait, kKernelWait, kOther };
    // The part of it that the union did not have; empty: end <= begin.
    static std::pair<int64_t, int64_t> extend(Union& all, const HtaOperation& operation) {
        const std::pair piece(std::max(operation.start_ns, all.end_ns), operation.end_ns);
        if (piece.first >= piece.second) return piece;
        if (operation.start_ns > all.end_ns) all.start_ns = operation.start_ns;
        all.end_ns = operation.end_ns;
        return piece;
    }
    // Starts only grow, so of the other class only the last piece can reach into a new one.
    void add_class(const HtaOperation& operation) {
        const bool is_comm = operation.kind == HtaKind::comm;
        const auto [begin, end] = extend(of_[is_comm], operation);
        if (end <= begin) return;
        (is_comm ? comm_ns : compute_ns) += end - begin;
        const Union& other = of_[!is_comm];
        const int64_t from = std::max(begin, other.start_ns), until = std::min(end, other.end_ns);
        if (until > from) overlap_ns += until - from;
    }
    void add_gap(const HtaOperation& operation) {
        const bool is_same = last_stream_ != nullptr && last_stream_->first == operation.stream;
        if (!is_same && !enter_stream(operation)) return;
        Stream& stream = last_stream_->second;
        const int64_t gap_ns = operation.start_ns - stream.end_ns;
        const bool host = operation.launched_ns != kNotRecorded && operation.launched_ns > stream.end_ns;
        Gap& gap = stream.gaps[host ? kHostWait : gap_ns < kKernelWaitNs ? kKernelWait : kOther];
        gap.ns += gap_ns;
        ++gap.gaps;
        stream.end_ns = operation.end_ns;
    }
    bool enter_stream(const HtaOperation& operation);
    void add_out_of_order(int64_t start_ns);  // or the very first

    Union all_;
    std::array<Union, 2> of_;  // compute, comm
    struct Stream {
        int64_t end_ns;  // of the last operation
        std::array<Gap, 3> gaps;
    };
    std::map<int64_t, Stream> streams_;
    std::pair<const int64_t, Stream>* last_stream_ = nullptr;
    int64_t last_start_ns_ = INT64_MAX;  // before the first one
};

}  // namespace gpushim::analysis
