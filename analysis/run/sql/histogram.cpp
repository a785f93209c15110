#include "histogram.h"

#include <algorithm>
#include <cmath>

#include "../../to_int64.h"
#include "run_db.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kLast = 959;  // of the largest number; a damaged run may name others

int64_t low_of_amount(int64_t bucket) {
    if (bucket < kExactBelow) return bucket;
    bucket = std::min(bucket, kLast);
    const int64_t octave = bucket >> kBucketBits, part = bucket & ((1 << kBucketBits) - 1);
    return ((1 << kBucketBits) + part) << (octave - 1);
}

int64_t high_of_amount(int64_t bucket) {
    if (bucket < kExactBelow) return bucket;
    bucket = std::min(bucket, kLast);
    // In this order: the last bucket ends where the numbers do.
    return low_of_amount(bucket) + ((int64_t{1} << ((bucket >> kBucketBits) - 1)) - 1);
}

}  // namespace

int64_t bucket_low(int32_t bucket) {
    return bucket < 0 ? -low_of_amount(-int64_t{bucket}) : low_of_amount(bucket);
}
int64_t bucket_high(int32_t bucket) {
    return bucket < 0 ? -high_of_amount(-int64_t{bucket}) : high_of_amount(bucket);
}

Histogram::Cell& Histogram::widen(int32_t bucket) {
    if (cells_.empty()) first_ = bucket;
    if (bucket < first_) {
        cells_.insert(cells_.begin(), static_cast<size_t>(first_ - bucket), Cell{});
        first_ = bucket;
    }
    const auto place = static_cast<size_t>(bucket - first_);
    if (place >= cells_.size()) cells_.resize(place + 1);
    count_of_cells_ = static_cast<uint32_t>(cells_.size());
    return cells_[place];
}

void Histogram::add(const Histogram& other) {
    for (size_t i = 0; i < other.cells_.size(); ++i) {
        if (other.cells_[i].count == 0) continue;
        Cell& cell = at(other.first_ + static_cast<int32_t>(i));
        cell.count += other.cells_[i].count;
        cell.sum += other.cells_[i].sum;
    }
    count_ += other.count_;
}

std::optional<Percentile> Histogram::percentile(double share) const {
    if (count_ == 0) return {};
    const double until = std::ceil(share * static_cast<double>(count_) - 1e-9);
    const int64_t rank = std::clamp<int64_t>(to_int64(until), 1, count_);
    int64_t seen = 0;
    size_t place = 0;
    while ((seen += cells_[place].count) < rank) ++place;
    const int32_t bucket = first_ + static_cast<int32_t>(place);
    const auto [near, far] = std::pair(bucket_low(bucket), bucket_high(bucket));
    return Percentile{cells_[place].sum / cells_[place].count, std::min(near, far), std::max(near, far)};
}

std::optional<int64_t> Histogram::value(double share) const {
    const auto found = percentile(share);
    return found ? std::optional(found->value) : std::nullopt;
}

void Histogram::write(RunDb& run, const char* what, int64_t gpu_id, int64_t stream_id) const {
    for (size_t i = 0; i < cells_.size(); ++i)
        if (cells_[i].count != 0)
            run.add("histogram", {std::string(what), gpu_id, stream_id, int64_t{first_} + int64_t(i),
                                  cells_[i].count, cells_[i].sum});
}

}  // namespace gpushim::analysis
