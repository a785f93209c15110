#include "idle_sums.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

void add_to(std::vector<GapRow>& rows, const GapRow& row) {
    for (GapRow& old : rows)
        if (old.cause == row.cause && old.blocked_on == row.blocked_on) {
            old += row;
            return;
        }
    rows.push_back(row);
}

}  // namespace

GapRow& GapRow::operator+=(const GapRow& other) {
    ns += other.ns;
    pieces += other.pieces;
    drained_ns += other.drained_ns;
    if (other.longest_ns > longest_ns) {
        longest_ns = other.longest_ns;
        longest_from_ns = other.longest_from_ns;
    }
    return *this;
}

void IdleSums::begin(std::span<const Segment> segments) {
    segments_ = segments;
    earlier_rows_ = rows_.size();
    boundaries_ns_ = boundaries_of(segments);
    segment_ = 0;
}

void IdleSums::add(const Attributed& gap) {
    if (segments_.empty() || gap.pieces.empty()) return;
    const Interval all = {segments_.front().from_ns, segments_.back().until_ns};
    for (const PythonPart& part : gap.python) add_python(part);
    for (const StagePart& part : gap.stages) add_stage(part);
    for (const OwnRangePart& part : gap.ranges) add_range(part);
    const auto add_clipped = [&](Piece piece) {
        piece.from_ns = std::max(piece.from_ns, all.start_ns);
        piece.until_ns = std::min(piece.until_ns, all.end_ns);
        if (piece.until_ns > piece.from_ns) add_piece(piece, gap.drained_by_sync);
    };
    if (is_in_this_segment({gap.pieces.front().from_ns, gap.pieces.back().until_ns}))  // most gaps
        std::for_each(gap.pieces.begin(), gap.pieces.end(), add_clipped);
    else
        for (const Piece& piece : split_at(gap.pieces, boundaries_within(gap))) add_clipped(piece);
    IdleByCause& ready =
        segment_ < segments_.size() && segments_[segment_].step != kNoStep ? ready_ : rest_ready_;
    for (const Contended& row : gap.contended) ready[row.cause] += row.ns;
}

void IdleSums::add(const Piece& gap) {
    if (is_in_this_segment({gap.from_ns, gap.until_ns}))
        add_piece(gap, false);
    else
        add(Attributed{{gap}});
}

bool IdleSums::is_in_this_segment(Interval span) const {
    return segment_ < segments_.size() && segments_[segment_].from_ns <= span.start_ns &&
           span.end_ns <= segments_[segment_].until_ns;
}

std::span<const int64_t> IdleSums::boundaries_within(const Attributed& gap) const {
    const auto from =
        std::upper_bound(boundaries_ns_.begin(), boundaries_ns_.end(), gap.pieces.front().from_ns);
    return {from, std::lower_bound(from, boundaries_ns_.end(), gap.pieces.back().until_ns)};
}

// Of the step in which it begins.
void IdleSums::add_python(const PythonPart& part) {
    const int64_t from_ns = std::max(part.from_ns, segments_.front().from_ns);
    const int64_t ns = std::min(part.until_ns, segments_.back().until_ns) - from_ns;
    if (ns <= 0) return;
    const auto segment = segment_at(from_ns);
    PythonSum& sum = python_[{segment->step, part.cause, part.line}];
    sum.ns += ns;
    sum.samples += part.samples;
}

// Each segment of that time, and how much of it lies there.
template <class Add>
void IdleSums::by_segment(int64_t from_ns, int64_t until_ns, Add add) const {
    int64_t at_ns = std::max(from_ns, segments_.front().from_ns);
    const int64_t end_ns = std::min(until_ns, segments_.back().until_ns);
    for (auto segment = segment_at(at_ns); at_ns < end_ns; ++segment) {
        const int64_t here_ns = std::min(end_ns, segment->until_ns) - at_ns;
        add(segment->step, here_ns);
        at_ns += here_ns;
    }
}

void IdleSums::add_stage(const StagePart& part) {
    by_segment(part.from_ns, part.until_ns, [&](int32_t step, int64_t ns) {
        stages_[{step, part.stage}] += ns;
    });
}

void IdleSums::add_range(const OwnRangePart& part) {
    by_segment(part.from_ns, part.until_ns, [&](int32_t step, int64_t ns) {
        RangeSum& sum = ranges_[{step, part.cause, part.range}];
        sum.ns += ns;
        if (part.is_over) sum.over_ns += ns;
    });
}

// In which it lies; behind the last one their end.
std::span<const Segment>::iterator IdleSums::segment_at(int64_t t_ns) const {
    return std::partition_point(segments_.begin(), segments_.end(),
                                [&](const Segment& one) { return one.until_ns <= t_ns; });
}

void IdleSums::add_piece(const Piece& piece, bool drained) {
    for (; segments_[segment_].until_ns <= piece.from_ns; ++segment_) leave_segment();
    const int32_t step = segments_[segment_].step;
    const int64_t ns = piece.until_ns - piece.from_ns;
    add_to(step == kNoStep ? rest_ : here_,
           {step, piece.cause, piece.blocked_on, ns, 1, ns, piece.from_ns, drained ? ns : 0});
}

void IdleSums::leave_segment() {
    put_contention(segments_[segment_].step, ready_);
    rows_.insert(rows_.end(), here_.begin(), here_.end());
    here_.clear();
}

void IdleSums::put_contention(int32_t step, IdleByCause& ready) {
    for (const CauseRow& row : kCauses)
        if (ready[row.cause] != 0) contention_.push_back({step, row.cause, ready[row.cause]});
    ready = {};
}

void IdleSums::end(const Undisturbed* would) {
    if (segment_ < segments_.size()) leave_segment();
    rows_.insert(rows_.end(), rest_.begin(), rest_.end());
    rest_.clear();
    if (would != nullptr)
        for (size_t i = earlier_rows_; i < rows_.size(); ++i)
            rows_[i].longest_from_ns = would->was(rows_[i].longest_from_ns);
    put_contention(kNoStep, rest_ready_);
    segments_ = {};
    segment_ = 0;
}

}  // namespace gpushim::analysis
