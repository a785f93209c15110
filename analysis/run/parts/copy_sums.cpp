#include "copy_sums.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "../../../shim/schema/flags.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

CopySums::CopySums(const TraceFacts& facts, const Places& places)
    : facts_(facts),
      places_(places),
      positions_(facts.gpus.size() + 1),
      launched_(facts.gpus.size() + 1),
      memsets_(places.size()) {}

void CopySums::see_copy_or_memset(const Call& call, size_t gpu) {
    if (call.type == OperationClass::memset)
        return memsets_[places_.of(call)].bytes.add(std::max<int64_t>(0, call.bytes));
    Alike& alike = alike_[number_of(key_of(call, next_position(call, gpu, seen_)))];
    alike.bytes.add(std::max<int64_t>(0, call.bytes));
    alike.call_sum_ns += call.exit_ns - call.enter_ns;
    alike.behind_kernels += is_behind_kernels(call, gpu);
    if (call.step == kNoStep || facts_.are_slices || call.step == alike.last_step) return;
    alike.last_step = call.step;
    ++alike.steps;
}

void CopySums::begin(const TimedPiece& piece) {
    whole_ =
        piece.steps.empty() ? WholeSteps{} : WholeSteps{piece.steps.front().step, piece.steps.back().step};
}

std::optional<uint64_t> CopySums::take_copy_or_memset(const Call& call, size_t gpu) {
    std::optional<uint64_t> who;
    if (is_copy(call))
        who = number_of(key_of(call, whole_.has(call.step) ? next_position(call, gpu, taken_) : kNoPosition));
    const int64_t ran_ns = call.timed ? call.times.end_ns - call.times.start_ns : 0;
    if (ran_ns <= 0) return {};
    if (who) add_time(alike_[*who], call.bytes, call.times);
    if (call.type == OperationClass::memset) {
        ++memsets_[places_.of(call)].timed;
        memsets_[places_.of(call)].sum_ns += ran_ns;
    }
    return who;
}

void CopySums::finish(RunDb& run) {
    if (has_totals(*facts_.trace)) read_totals();
    for (const auto& [key, number] : numbers_) write(run, key, alike_[number]);
    for (size_t i = 0; i < memsets_.size(); ++i)
        if (memsets_[i].bytes.count > 0) write(run, places_[i], memsets_[i]);
}

int8_t CopySums::size_of(int64_t bytes) {
    return bytes < 0 ? int8_t{kSizeNotTold}
                     : static_cast<int8_t>(std::bit_width(static_cast<uint64_t>(bytes)));
}

// Parts of a batch that are worked on one after the other are, and several tensors of one are not.
bool CopySums::is_behind_kernels(const Call& copy, size_t gpu) {
    int64_t& launched = launched_before_[{gpu, copy.type, size_of(copy.bytes)}];
    return std::exchange(launched, launched_[gpu]) != launched_[gpu];
}

int8_t CopySums::next_position(const Call& call, size_t gpu, Which which) {
    if (call.step == kNoStep || facts_.are_slices) return kNoPosition;
    Position& position = positions_[gpu][which];
    if (position.step != call.step) position = {call.step, {}};
    return static_cast<int8_t>(std::min(position.next[static_cast<size_t>(call.type)]++, kLastPosition));
}

CopySums::Key CopySums::key_of(const Call& call, int8_t position) const {
    return {static_cast<uint32_t>(places_.of(call)),
            call.type,
            call.blocking,
            position,
            size_of(call.bytes),
            static_cast<int16_t>(std::max<int64_t>(0, call.detail))};
}

uint64_t CopySums::number_of(const Key& key) {
    const auto [found, is_new] = numbers_.try_emplace(key, alike_.size());
    if (is_new) alike_.emplace_back();
    return found->second;
}

void CopySums::add_time(Alike& alike, int64_t bytes, const DeviceTimes& times) {
    ++alike.timed;
    alike.sum_ns += times.end_ns - times.start_ns;
    if (bytes < 0) return;
    alike.timed_bytes += bytes;
    alike.best =
        std::max(alike.best, static_cast<double>(bytes) * 1e9 / static_cast<double>(surely_ns(times)));
}

// The best of many estimates is the one that is most wrong: what is not known to a tenth counts with the
// longest that it can have taken.
int64_t CopySums::surely_ns(const DeviceTimes& times) {
    const int64_t ran_ns = times.end_ns - times.start_ns;
    const bool is_exact = times.likely_ns * 10 <= ran_ns;
    return is_exact ? ran_ns : std::max(ran_ns, times.end_high_ns - times.start_low_ns);
}

// What the rows lack of the totals is copies whose rows are gone: alike in all but size and position.
void CopySums::read_totals() {
    std::map<Key, Alike> rest;
    Query copies =
        facts_.trace->base.prepare("SELECT s.stream_id, s.direction, s.sides, " + sql_bit(kRowBlocking, "s") +
                                   ", sum(t.events), sum(t.bytes),"
                                   " sum(t.sum_ns) FROM series s JOIN v_series_total t ON t.series_id = s.id"
                                   " WHERE s.kind = 'copy' AND " +
                                   kRan.sql("s") + " AND s.direction IS NOT 5 GROUP BY 1, 2, 3, 4");
    while (copies.step()) {
        Alike& alike = rest[{static_cast<uint32_t>(places_.of_stream(copies.maybe(0))),
                             class_of(copies.number(1)), copies.number(3) != 0, kNoPosition,
                             int8_t{kSizeNotTold}, static_cast<int16_t>(copies.number(2))}];
        alike.bytes.count += copies.number(4);
        alike.bytes.sum += copies.number(5);
        alike.call_sum_ns += copies.number(6);
    }
    for (const auto& [key, number] : numbers_) {
        const auto found = rest.find(without_size(key));
        if (found == rest.end()) continue;
        found->second.bytes.count -= alike_[number].bytes.count;
        found->second.bytes.sum -= alike_[number].bytes.sum;
        found->second.call_sum_ns -= alike_[number].call_sum_ns;
    }
    for (const auto& [key, alike] : rest)
        if (alike.bytes.count > 0) alike_[number_of(key)] = alike;
    read_memset_totals();
}

void CopySums::read_memset_totals() {
    Query query = facts_.trace->base.prepare(
        "SELECT s.stream_id, sum(t.events), sum(t.bytes) FROM series s"
        " JOIN v_series_total t ON t.series_id = s.id WHERE s.kind = 'memset' AND " +
        kRan.sql("s") + " GROUP BY 1");
    while (query.step()) {
        Moments& bytes = memsets_[places_.of_stream(query.maybe(0))].bytes;
        bytes.count = query.number(1);
        bytes.sum = query.number(2);
    }
}

CopySums::Key CopySums::without_size(Key key) {
    key.position = kNoPosition;
    key.size = int8_t{kSizeNotTold};
    return key;
}

OperationClass CopySums::class_of(int64_t direction) {
    constexpr OperationClass kClasses[] = {OperationClass::copy, OperationClass::h2d, OperationClass::d2h,
                                           OperationClass::d2d, OperationClass::p2p};
    return direction >= 0 && direction < 5 ? kClasses[direction] : OperationClass::copy;
}

void CopySums::write(RunDb& run, const Key& key, const Alike& a) const {
    if (a.bytes.count + a.timed == 0) return;
    const Place& place = places_[key.place];
    const bool has_sizes = key.size != kSizeNotTold;
    const auto if_sizes = [&](auto value) { return has_sizes ? Value(value) : Value(nullptr); };
    run.add("copy_stat", {place.gpu_id,
                          place.stream_id,
                          std::string(copy_kind(key.type)),
                          std::string(source_of(key.sides)),
                          std::string(target_of(key.sides)),
                          int64_t{key.blocking},
                          int64_t{key.position},
                          has_sizes ? int64_t{1} << key.size : kSizeNotTold,
                          a.bytes.count,
                          a.bytes.sum,
                          a.call_sum_ns,
                          a.steps,
                          a.timed,
                          a.sum_ns,
                          a.timed_bytes,
                          a.best > 0 ? Value(a.best) : Value(nullptr),
                          a.blocks_ns,
                          if_sizes(a.bytes.min),
                          if_sizes(a.bytes.max),
                          if_sizes(a.bytes.squares),
                          if_sizes(a.behind_kernels)});
}

void CopySums::write(RunDb& run, const Place& place, const Memsets& m) {
    run.add("memset_stat", {place.gpu_id, place.stream_id, m.bytes.count, m.bytes.sum, m.bytes.min,
                            m.bytes.max, m.bytes.squares, m.timed, m.sum_ns});
}

}  // namespace gpushim::analysis
