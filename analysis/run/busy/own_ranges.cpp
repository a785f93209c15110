#include "own_ranges.h"

#include <algorithm>

#include "../../trace/range_words.h"

namespace gpushim::analysis {

namespace {

// A profiler's mark of a step is around all of it, and no word of the program's.
constexpr const char* kPushedAndPopped =
    "SELECT enter_ns, thread_id, kind = 'push', coalesce(domain_id, -1), coalesce(name_id, -1) FROM marker"
    " WHERE kind IN ('push', 'pop') AND enter_ns >= ?1 AND coalesce(name_id, -1) NOT IN"
    " (SELECT id FROM name WHERE text GLOB 'ProfilerStep#*') ORDER BY enter_ns";

// What is called by a callback is the callback's, and what a loader calls loads; an optimizer is often given
// all of a step as a closure.
bool tells_of_inner(PythonDoes outer, PythonDoes inner) {
    return outer == PythonDoes::loads || (outer == PythonDoes::calls_back && inner == PythonDoes::untold);
}

std::optional<std::string> text_of(const Database& base, int64_t name_id) {
    if (name_id < 0) return {};
    Query row = base.prepare("SELECT text FROM name WHERE id = ?1");
    row.bind(1, name_id);
    return row.step() ? std::optional(row.text(0)) : std::nullopt;
}

}  // namespace

OwnRanges::OwnRanges(const Trace* trace) : trace_(trace) {
    if (trace == nullptr) return;
    const Database& base = trace->base;
    if (base.is_of_first_schema() || !base.has("marker")) return;
    markers_.emplace(base.prepare(kPushedAndPopped));
    markers_->bind(1, trace->from_ns);
    next_marker();
}

void OwnRanges::next_marker() {
    marker_.reset();
    if (!markers_) return;
    if (!markers_->step()) return markers_.reset();
    marker_ = {markers_->number(0),
               markers_->number(1),
               markers_->number(2) != 0,
               {markers_->number(3), markers_->number(4)}};
}

void OwnRanges::read_until(int64_t now_ns) {
    for (; marker_ && marker_->at_ns <= now_ns; next_marker()) take(*marker_);
}

void OwnRanges::take(const Marker& marker) {
    if (!marker.begins) {
        if (const auto line = lines_.find(marker.thread); line != lines_.end()) pop(line->second, marker);
        return;
    }
    Line& line = lines_[marker.thread];
    const int32_t range = range_of(marker.key);
    Open added = {marker.key, range, does_[static_cast<size_t>(range)], ranges_, ranges_};
    ++ranges_;
    if (!line.open.empty() && tells_of_inner(line.open.back().does, added.does)) {
        added.does = line.open.back().does;
        added.teller = line.open.back().teller;
    }
    line.open.push_back(added);
    if (line.open.size() > kMostOpen) line.open.pop_front();
    go_on(line, marker.at_ns);
}

// Of the innermost that is called so: ranges of two domains may overlap as they like.
void OwnRanges::pop(Line& line, const Marker& marker) {
    const auto found = std::find_if(line.open.rbegin(), line.open.rend(),
                                    [&](const Open& one) { return one.key == marker.key; });
    if (found == line.open.rend()) return;
    const int64_t number = found->number;
    line.open.erase(std::next(found).base());
    for (auto tile = line.tiles.rbegin(); tile != line.tiles.rend() && tile->number >= number; ++tile) {
        if (tile->number == number) tile->over_ns = marker.at_ns;
        if (tile->teller == number) tile->told_over_ns = marker.at_ns;
    }
    go_on(line, marker.at_ns);
}

// With what is the innermost now.
void OwnRanges::go_on(Line& line, int64_t at_ns) {
    if (!line.tiles.empty()) line.tiles.back().until_ns = std::min(line.tiles.back().until_ns, at_ns);
    if (line.open.empty()) return;
    const Open& open = line.open.back();
    line.tiles.push_back({at_ns, INT64_MAX, open.range, open.does, open.number, open.teller});
    if (line.tiles.size() > kMostTiles) line.tiles.pop_front();
}

// Of programs that name each range otherwise, what is behind the first names has none.
int32_t OwnRanges::range_of(const Key& key) {
    const auto place =
        std::lower_bound(known_.begin(), known_.end(), key,
                         [](const auto& known, const Key& asked) { return known.first < asked; });
    if (place != known_.end() && place->first == key) return place->second;
    if (names_.size() > kMostNames) return static_cast<int32_t>(kMostNames);
    const auto range = static_cast<int32_t>(names_.size());
    if (names_.size() == kMostNames) {
        names_.emplace_back();
        does_.push_back(PythonDoes::untold);
        return range;
    }
    const Database& base = trace_->base;
    names_.push_back({text_of(base, key.first), text_of(base, key.second)});
    does_.push_back(names_.back().name ? told_by_range(*names_.back().name) : PythonDoes::untold);
    known_.insert(place, {key, range});
    return range;
}

const OwnRanges::Line* OwnRanges::line_of(int64_t thread) const {
    const auto found = lines_.find(thread);
    if (found != lines_.end()) return &found->second;
    return lines_.size() == 1 ? &lines_.begin()->second : nullptr;
}

RangeHere OwnRanges::at(int64_t thread, int64_t t_ns, int64_t launch_ns) const {
    const Line* line = line_of(thread);
    if (line == nullptr) return {};
    const auto tile = std::partition_point(line->tiles.begin(), line->tiles.end(),
                                           [t_ns](const Tile& one) { return one.until_ns <= t_ns; });
    if (tile == line->tiles.end()) return {};
    if (tile->from_ns > t_ns) return {kNotSampled, PythonDoes::untold, tile->from_ns};
    return {tile->range, tile->does, tile->until_ns, tile->over_ns <= launch_ns,
            tile->told_over_ns <= launch_ns};
}

void OwnRanges::forget_before(int64_t t_ns) {
    for (auto& [thread, line] : lines_)
        while (!line.tiles.empty() && line.tiles.front().until_ns < t_ns) line.tiles.pop_front();
}

}  // namespace gpushim::analysis
