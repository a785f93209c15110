#include "rollup.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <tuple>

#include "../base/time_units.h"

namespace gpushim::shim {
namespace {

// What is NULL adds nothing.
constexpr const char* kUpsert =
    "INSERT INTO rollup VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (second, series_id) DO UPDATE SET"
    " events = events + excluded.events, calls = calls + excluded.calls,"
    " sum_ns = coalesce(sum_ns + excluded.sum_ns, sum_ns, excluded.sum_ns),"
    " min_ns = coalesce(min(min_ns, excluded.min_ns), min_ns, excluded.min_ns),"
    " max_ns = coalesce(max(max_ns, excluded.max_ns), max_ns, excluded.max_ns),"
    " bytes = coalesce(bytes + excluded.bytes, bytes, excluded.bytes),"
    " histogram = histogram_sum(histogram, excluded.histogram)";

void add_to(int64_t& sum, int64_t value) {
    if (value != kNull) sum = sum == kNull ? value : sum + value;
}

uint64_t key_of(int64_t second, int64_t series) {
    return static_cast<uint64_t>(second) << 32 | static_cast<uint64_t>(series);
}

}  // namespace

Rollups::Rollups(Database& base, SeriesList& series) : series_(series), upsert_(base.prepare(kUpsert)) {}

Rollups::Increment& Rollups::begin(int64_t second, int64_t series) {
    if (used_ == increments_.size()) increments_.emplace_back();
    Increment& made = increments_[used_++];
    made.second = second;
    made.series = series;
    made.events = made.calls = 0;
    made.sum_ns = made.min_ns = made.max_ns = made.bytes = kNull;
    made.durations.clear();
    return made;
}

// Late ones, and where a batch goes over a second's end.
Rollups::Increment& Rollups::of_other_second(Newest& newest, int64_t second, int64_t series) {
    const auto [place, is_new] = others_.try_emplace(key_of(second, series), used_);
    if (is_new) begin(second, series);
    newest = {second, place->second};
    return increments_[place->second];
}

Rollups::Increment& Rollups::of(int64_t second, int64_t series) {
    const auto index = static_cast<size_t>(series);
    if (index >= newest_.size()) newest_.resize(index + 1);
    Newest& newest = newest_[index];
    return newest.second == second ? increments_[newest.index] : of_other_second(newest, second, series);
}

void Rollups::add(const Rows& rows, const EventColumns& columns, bool of_device, size_t from, size_t until) {
    Increment* last = nullptr;  // what is alike comes in a row
    int64_t last_series = 0, from_ns = 0;
    for (size_t i = from; i < until; ++i) {
        const int64_t* row = rows.row(i);
        const int64_t series = of_device ? series_.device_times_of(rows.extra_of(i)) : rows.extra_of(i);
        if (series == 0) continue;
        if (series != last_series || row[0] < from_ns || row[0] >= from_ns + kSecond) {
            const int64_t second = row[0] / kSecond;
            last = &of(second, series);
            last_series = series;
            from_ns = second * kSecond;
        }
        Increment& sum = *last;
        const int64_t calls = columns.calls == column::none ? 1 : row[columns.calls];
        ++sum.events;
        sum.calls += calls;
        if (columns.bytes != column::none) add_to(sum.bytes, row[columns.bytes]);
        const int64_t dur_ns = columns.duration == column::none ? kNull : row[columns.duration];
        if (dur_ns == kNull) continue;
        sum.min_ns = sum.min_ns == kNull ? dur_ns : std::min(sum.min_ns, dur_ns);
        sum.max_ns = std::max(sum.max_ns, dur_ns);  // kNull is the least number
        add_to(sum.sum_ns, dur_ns);
        if (calls > 0) sum.durations.add(calls == 1 ? dur_ns : dur_ns / calls, static_cast<uint64_t>(calls));
    }
}

void Rollups::add(Tables& tables) {
    for (const EventRows& events : tables.events())
        add(*events.rows, events.columns, false, 0, events.rows->count());
}

// The operation's series stands behind them.
void Rollups::add_device_times(const Rows& rows) {
    if (!rows.has_extra()) return;
    constexpr int kNone = column::none, kDuration = column::launch_device::dur_ns;  // and of the others
    add(rows, {kDuration, kNone, kNone}, true, rows.shown_from(), rows.shown_until());
}

// In the order of the table.
void Rollups::write() {
    order_.resize(used_);
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::sort(order_.begin(), order_.end(), [this](size_t a, size_t b) {
        return std::tie(increments_[a].second, increments_[a].series) <
               std::tie(increments_[b].second, increments_[b].series);
    });
    for (const size_t index : order_) {
        Increment& sum = increments_[index];
        upsert_.bind(1, sum.second).bind(2, sum.series).bind(3, sum.events).bind(4, sum.calls);
        upsert_.bind(5, sum.sum_ns).bind(6, sum.min_ns).bind(7, sum.max_ns).bind(8, sum.bytes);
        upsert_.bind(9, sum.durations.bytes()).step();
    }
}

void Rollups::clear() {
    for (size_t i = 0; i < used_; ++i) newest_[static_cast<size_t>(increments_[i].series)] = {};
    others_.clear();
    used_ = 0;
}

}  // namespace gpushim::shim
