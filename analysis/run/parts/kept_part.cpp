#include "kept_part.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "../../exporter/kept_rows.h"
#include "../../exporter/trace_rows.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostTexts = 4096, kLongestText = 1024;
constexpr int64_t kNoRoom = 0;

Value number(int64_t value) { return value == ExportRow::kNone ? Value(nullptr) : Value(value); }

class KeptPart : public Part {
  public:
    explicit KeptPart(const TraceFacts& facts) : facts_(facts) {}

    void begin(const TimedPiece& piece) override {
        for (const WholeStep& whole : piece.steps) timed_.insert(static_cast<size_t>(whole.step));
    }

    void finish(RunDb& run) override {
        const std::vector<size_t> steps = by_length();
        if (steps.empty()) return;
        const size_t typical = steps[(steps.size() - 1) / 2], worst = steps.back();
        Query offset = facts_.trace->base.prepare("SELECT real_minus_mono_ns FROM v_offset");
        offset_ns_ = offset.step() ? offset.number(0) : 0;
        keep(run, typical, "typical");
        if (worst != typical) keep(run, worst, "worst");
        write_texts(run);
        write_tracks(run);
    }

  private:
    std::vector<size_t> by_length() const {
        std::vector<size_t> counted, timed;
        if (facts_.are_slices) return {};
        for (size_t i = 0; i < facts_.steps.size(); ++i) {
            if (facts_.steps[i].is_warm_up || facts_.steps[i].is_left_out) continue;
            counted.push_back(i);
            if (timed_.contains(i)) timed.push_back(i);
        }
        std::vector<size_t>& chosen = timed.empty() ? counted : timed;
        std::stable_sort(chosen.begin(), chosen.end(), [this](size_t a, size_t b) {
            return facts_.steps[a].length_ns() < facts_.steps[b].length_ns();
        });
        return chosen;
    }

    void keep(RunDb& run, size_t step, const char* why) {
        const Step& is = facts_.steps[step];
        TraceRows rows(*facts_.trace, is.begin_ns, is.end_ns);
        const auto index = static_cast<int64_t>(step);
        int64_t kept = 0, left_out = 0;
        for (ExportRow row; rows.next(row);) {
            if (kept == kMostKeptRows)
                ++left_out;
            else
                write(run, index, kept++, row);
        }
        run.add("kept_step", {facts_.rank_id, index, std::string(why), kept, left_out, offset_ns_});
    }

    void write(RunDb& run, int64_t step, int64_t nth, const ExportRow& row) {
        if (row.tid != ExportRow::kNone) tids_.insert(row.tid);
        if (row.device != ExportRow::kNone && row.stream != ExportRow::kNone)
            streams_.insert({row.device, row.stream});
        const auto& n = row.numbers;
        run.add("kept_call", {facts_.rank_id,
                              step,
                              nth,
                              std::string(export_kind_name(row.kind)),
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
                              number(n[6])});
    }

    Value text(std::string_view words) {
        if (words.empty()) return nullptr;
        const std::string cut(words.substr(0, kLongestText));
        const auto found = texts_.find(cut);
        if (found != texts_.end()) return found->second;
        if (texts_.size() == kMostTexts) return kNoRoom;
        return texts_[cut] = static_cast<int64_t>(texts_.size()) + 1;
    }

    void write_texts(RunDb& run) {
        run.add("kept_text", {facts_.rank_id, kNoRoom, std::string("(other)")});
        for (const auto& [words, id] : texts_) run.add("kept_text", {facts_.rank_id, id, words});
    }

    void write_tracks(RunDb& run) {
        const ExportHead head = export_head(*facts_.trace);
        for (const ExportTrack& thread : head.threads)
            if (tids_.contains(thread.number))
                run.add("kept_track",
                        {facts_.rank_id, std::string("thread"), nullptr, thread.number, thread.name});
        for (const ExportTrack& stream : head.streams)
            if (streams_.contains({stream.device, stream.number}))
                run.add("kept_track",
                        {facts_.rank_id, std::string("stream"), stream.device, stream.number, stream.name});
    }

    const TraceFacts& facts_;
    std::set<size_t> timed_;  // by index into facts.steps
    int64_t offset_ns_ = 0;
    std::map<std::string, int64_t, std::less<>> texts_;
    std::set<int64_t> tids_;
    std::set<std::pair<int64_t, int64_t>> streams_;
};

const PartRegistration kKeptPart(make_kept_part);

}  // namespace

std::unique_ptr<Part> make_kept_part(const TraceFacts& facts) { return std::make_unique<KeptPart>(facts); }

}  // namespace gpushim::analysis
