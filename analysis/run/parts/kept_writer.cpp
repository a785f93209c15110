#include "kept_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "../../exporter/kept_rows.h"
#include "../../trace/plausible.h"
#include "../sql/kept_text.h"
#include "../sql/python_places.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostTexts = 4096;
constexpr int64_t kNoRoom = 0;
constexpr int64_t kMostRowsBefore = 500'000;           // that are looked at …
constexpr size_t kMostStepsBefore = 64;                // … and steps, each of which is opened by itself
constexpr int64_t kLongestBefore_ns = 60'000'000'000;  // as a step, before the first
constexpr int64_t kMostSamples = 20'000;               // of launches: the first so many tell lines of Python

PlainValue number(int64_t value) {
    return value == ExportRow::kNone ? PlainValue(nullptr) : PlainValue(value);
}

}  // namespace

// What ranges of a thread are open, from rows in order of enter; the innermost is the last that began.
class KeptWriter::OpenRanges {
  public:
    // Of an operation: the innermost range of its thread.
    std::string_view see(const ExportRow& row) {
        std::vector<Open>& open = of_thread_[row.tid];
        while (!open.empty() && open.back().end_ns <= row.enter_ns) open.pop_back();
        if (row.kind == ExportKind::range && row.dur_ns != ExportRow::kNone)
            open.push_back({row.enter_ns + plausible_span(row.dur_ns), std::string(row.name)});
        return row.is_operation() && !open.empty() ? std::string_view(open.back().name) : std::string_view();
    }

  private:
    struct Open {
        int64_t end_ns;
        std::string name;
    };
    std::unordered_map<int64_t, std::vector<Open>> of_thread_;
};

KeptWriter::KeptWriter(const TraceFacts& facts, RunDb& run)
    : facts_(facts), run_(run), calls_(run, "kept_call"), words_(export_words(*facts.trace)) {
    Query offset = facts.trace->base.prepare("SELECT real_minus_mono_ns FROM v_offset");
    if (offset.step()) offset_ns_ = offset.number(0);
    const auto of_rank = [&](const char* sql) {
        Query rows(run.raw_in_turn(), "run", sql);
        rows.bind(1, facts.rank_id);
        return rows;
    };
    for (Query row = of_rank("SELECT step FROM kept_step WHERE rank_id = ?1"); row.step();)
        steps_.insert(row.number(0));
    for (Query row = of_rank("SELECT text, id FROM kept_text WHERE rank_id = ?1 AND id > 0"); row.step();)
        texts_[row.text(0)] = row.number(1);
    known_texts_ = static_cast<int64_t>(texts_.size());
    is_first_ = steps_.empty();
    read_lines();
}

void KeptWriter::keep(size_t step, const std::string& why) {
    const Step& is = facts_.steps[step];
    const int64_t most = facts_.are_slices ? kMostKeptOfExcerpt : kMostKeptRows;
    TraceRows rows(*facts_.trace, words_, is.begin_ns, is.end_ns);
    Place place = {static_cast<int64_t>(step), 0};
    OpenRanges ranges;
    int64_t left_out = 0;
    for (ExportRow row; rows.next(row);) {
        const std::string_view range = ranges.see(row);
        if (place.nth == most) {
            ++left_out;
        } else {
            write(place, row, text(range));
            ++place.nth;
        }
    }
    keep_before(step, place, left_out);
    calls_.end();
    run_.add("kept_step", {facts_.rank_id, place.step, why, place.nth, left_out, offset_ns_});
    steps_.insert(place.step);
}

// A host may be many steps ahead of its GPUs, and steps that were found in what GPUs do may have no call at
// all: back to the step that had operations and left none running, or to before the first.
void KeptWriter::keep_before(size_t step, Place& place, int64_t& left_out) {
    const Step& kept = facts_.steps[step];
    Before before = {std::max(place.nth + kMostKeptBefore, kMostKeptRows), 0, left_out};
    for (size_t back = 1; back <= std::min(step, kMostStepsBefore); ++back) {
        const Step& is = facts_.steps[step - back];
        place.before = static_cast<int64_t>(back);
        if (!keep_running(kept, is.begin_ns, std::min(is.end_ns, kept.begin_ns), place, before)) return;
    }
    if (step > kMostStepsBefore || before.seen >= kMostRowsBefore) return;
    const int64_t first_ns = facts_.steps.front().begin_ns;
    const int64_t length_ns = std::min(kept.end_ns - kept.begin_ns, kLongestBefore_ns);
    const int64_t back_ns = static_cast<int64_t>(kMostStepsBefore) * length_ns;
    place.before = static_cast<int64_t>(step) + 1;
    keep_running(kept, first_ns - back_ns, std::min(first_ns, kept.begin_ns), place, before);
}

// Of what was called then, what still ran when the step began. False: there were operations, and none did.
bool KeptWriter::keep_running(const Step& kept, int64_t from_ns, int64_t until_ns, Place& place,
                              Before& before) {
    TraceRows rows(*facts_.trace, words_, from_ns, until_ns);
    OpenRanges ranges;
    bool has_operations = false, is_any = false;
    for (ExportRow row; before.seen < kMostRowsBefore && rows.next(row); ++before.seen) {
        const std::string_view range = ranges.see(row);
        if (!row.is_operation() || row.start_ns == ExportRow::kNone || row.ran_ns == ExportRow::kNone)
            continue;
        has_operations = true;
        const int64_t start_ns = plausible_time(row.start_ns);
        if (start_ns + plausible_span(row.ran_ns) <= kept.begin_ns || start_ns >= kept.end_ns) continue;
        is_any = true;
        if (place.nth == before.most) {
            ++before.left_out;
        } else {
            write(place, row, text(range));
            ++place.nth;
        }
    }
    return before.seen < kMostRowsBefore && (is_any || !has_operations);
}

void KeptWriter::write(const Place& place, const ExportRow& row, PlainValue range) {
    if (row.tid != ExportRow::kNone) tids_.insert(row.tid);
    if (row.device != ExportRow::kNone && row.stream != ExportRow::kNone)
        streams_.insert({row.device, row.stream});
    const auto& n = row.numbers;
    calls_.add({facts_.rank_id,
                place.step,
                place.nth,
                export_kind_name(row.kind),
                row.enter_ns,
                number(row.dur_ns),
                number(row.tid),
                row.flags,
                number(row.device),
                number(row.context),
                number(row.stream),
                number(row.group),
                number(row.start_ns),
                number(row.ran_ns),
                row.error_ns,
                text(row.name),
                text(row.what),
                number(n[0]),
                number(n[1]),
                number(n[2]),
                number(n[3]),
                number(n[4]),
                number(n[5]),
                number(n[6]),
                place.before,
                range,
                line_of(row)});
}

PlainValue KeptWriter::text(std::string_view words) {
    if (words.empty()) return nullptr;
    const std::string cut(words.substr(0, kLongestKeptText));
    const auto found = texts_.find(cut);
    if (found != texts_.end()) return found->second;
    if (texts_.size() == kMostTexts) return kNoRoom;
    return texts_[cut] = static_cast<int64_t>(texts_.size()) + 1;
}

PlainValue KeptWriter::line_of(const ExportRow& row) {
    if (row.kind != ExportKind::launch) return nullptr;
    const auto found = line_of_kernel_.find(std::string(row.what));
    return found == line_of_kernel_.end() ? PlainValue(nullptr) : text(found->second);
}

// Few launches are sampled, so lines are told by kernel: the one that most samples of its launches saw.
void KeptWriter::read_lines() {
    const Database& base = facts_.trace->base;
    if (!base.has("python_launch") || facts_.python.of_frame.empty()) return;
    std::map<std::string, std::map<int32_t, int64_t>> seen;  // kernel, line: samples
    Query samples = base.prepare(
        "SELECT p.frame_id, (SELECT CASE WHEN l.enter_ns + l.dur_ns >= p.enter_ns THEN l.shape_id END"
        " FROM launch l WHERE l.enter_ns <= p.enter_ns AND l.thread_id = p.thread_id"
        " ORDER BY l.enter_ns DESC LIMIT 1) FROM python_launch p ORDER BY p.enter_ns LIMIT " +
        std::to_string(kMostSamples));
    while (samples.step()) {
        const auto frame = facts_.python.of_frame.find(samples.number(0));
        const Kernel* kernel = facts_.kernel_of_shape(samples.maybe(1).value_or(-1));
        if (frame == facts_.python.of_frame.end() || kernel == nullptr) continue;
        ++seen[kernel->name][frame->second.line];
    }
    for (const auto& [kernel, lines] : seen) {
        const auto most = std::max_element(lines.begin(), lines.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        const PythonLine& line = facts_.python.lines[static_cast<size_t>(most->first)];
        PythonPlace place = {line.file, line.function, line.line, 0, most->second, 0};
        for (const auto& [other, count] : lines) place.of_samples += count;
        line_of_kernel_[kernel] = place.name() + ", " + place.count_text();
    }
}

void KeptWriter::finish() {
    if (steps_.empty()) return;
    if (std::exchange(is_first_, false))
        run_.add("kept_text", {facts_.rank_id, kNoRoom, std::string("(other)")});
    for (const auto& [words, id] : texts_)
        if (id > known_texts_) run_.add("kept_text", {facts_.rank_id, id, words});
    known_texts_ = static_cast<int64_t>(texts_.size());
    write_tracks();
}

void KeptWriter::write_tracks() {
    Query known(run_.raw_in_turn(), "run",
                "SELECT kind, device_id, number FROM kept_track WHERE rank_id = ?1");
    known.bind(1, facts_.rank_id);
    while (known.step()) {
        if (known.text(0) == "thread")
            tids_.erase(known.number(2));
        else
            streams_.erase({known.number(1), known.number(2)});
    }
    const ExportHead head = export_head(*facts_.trace, *words_);
    for (const ExportTrack& thread : head.threads)
        if (tids_.contains(thread.number))
            run_.add("kept_track",
                     {facts_.rank_id, std::string("thread"), nullptr, thread.number, thread.name});
    for (const ExportTrack& stream : head.streams)
        if (streams_.contains({stream.device, stream.number}))
            run_.add("kept_track",
                     {facts_.rank_id, std::string("stream"), stream.device, stream.number, stream.name});
}

}  // namespace gpushim::analysis
