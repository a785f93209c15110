// Why one GPU was idle, summed by step and cause: pieces of gaps, cut where steps begin.
//
//   gap        |─────── sync ───────|── host_cpu ──|
//   segments        4        |          5              |
//   sums       4: sync       |5: sync, host_cpu
//
// One thread.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "../../busy/undisturbed.h"
#include "../../idle/attribute.h"
#include "../pass/step_cuts.h"

namespace gpushim::analysis {

struct GapRow {
    int32_t step;
    Cause cause;
    int32_t blocked_on;
    int64_t ns = 0, pieces = 0;
    int64_t longest_ns = 0, longest_from_ns = 0;
    int64_t drained_ns = 0;  // of it, in gaps that a wait of the host had made

    GapRow& operator+=(const GapRow& other);  // of the same key
};

struct ContentionRow {
    int32_t step;
    Cause cause;       // within which it lies
    int64_t ready_ns;  // the thread could have run and had no CPU
};

struct PythonSum {
    int64_t ns = 0, samples = 0;
};
using StageSums = std::map<std::pair<int32_t, LoadingStage>, int64_t>;  // ns by step and stage of loading
struct RangeSum {
    int64_t ns = 0;
    int64_t over_ns = 0;  // of it, in ranges that were over before the next operation was launched
};
using RangeIdle = std::map<std::tuple<int32_t, Cause, int32_t>, RangeSum>;    // by step, cause and range
using PythonSums = std::map<std::tuple<int32_t, Cause, int32_t>, PythonSum>;  // by step, cause and line

class IdleSums {
  public:
    void begin(std::span<const Segment> segments);
    // A gap's, in order of time; what lies outside of the segments is left out.
    void add(const Attributed& gap);
    void add(const Piece& gap);  // that has one cause, and was not made by a wait of the host
    // `would`: of the piece; rows say where a gap was as the program ran. Null: its times are those.
    void end(const Undisturbed* would = nullptr);

    // Of all pieces of the run; several of one key are to be added up.
    const std::vector<GapRow>& rows() const { return rows_; }
    const std::vector<ContentionRow>& contention() const { return contention_; }
    const PythonSums& python() const { return python_; }
    const StageSums& stages() const { return stages_; }
    // In the program's own ranges; takes them away, because steps have many.
    RangeIdle take_ranges() { return std::exchange(ranges_, {}); }

  private:
    bool is_in_this_segment(Interval span) const;
    std::span<const Segment>::iterator segment_at(int64_t t_ns) const;
    std::span<const int64_t> boundaries_within(const Attributed& gap) const;
    void add_python(const PythonPart& part);
    void add_stage(const StagePart& part);
    void add_range(const OwnRangePart& part);
    template <class Add>
    void by_segment(int64_t from_ns, int64_t until_ns, Add add) const;
    void add_piece(const Piece& piece, bool drained);
    void leave_segment();
    void put_contention(int32_t step, IdleByCause& ready);

    std::span<const Segment> segments_;
    std::vector<int64_t> boundaries_ns_;
    size_t segment_ = 0;
    std::vector<GapRow> here_, rest_;  // of the segment; of kNoStep
    IdleByCause ready_, rest_ready_;   // of the segment; of kNoStep
    std::vector<GapRow> rows_;
    size_t earlier_rows_ = 0;  // of pieces before
    std::vector<ContentionRow> contention_;
    PythonSums python_;
    StageSums stages_;
    RangeIdle ranges_;
};

}  // namespace gpushim::analysis
