#include "kept_part.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kept_writer.h"

namespace gpushim::analysis {

namespace {

class KeptPart : public PartByCall<KeptPart> {
  public:
    explicit KeptPart(const TraceFacts& facts)
        : facts_(facts), timed_(facts.steps.size()), operations_(facts.steps.size()) {}

    void see(const Call& call) override {
        if (call.kind == CallKind::operation && call.step != kNoStep)
            ++operations_[static_cast<size_t>(call.step)];
    }

    void begin(const TimedPiece& piece) override {
        for (const WholeStep& whole : piece.steps) timed_[static_cast<size_t>(whole.step)] = true;
    }

    void finish(RunDb& run) override {
        if (facts_.are_slices) return keep_excerpt(run);
        const std::vector<size_t> steps = by_length();
        if (steps.empty()) return;
        const size_t typical = typical_of(steps), worst = steps.back();
        KeptWriter writer(facts_, run);
        writer.keep(typical, "typical");
        if (worst != typical) writer.keep(worst, "worst");
        writer.finish();
    }

  private:
    // The slice in which half of the operations had been called: the middle of the work, not of the time,
    // since a run may load for long before it begins.
    void keep_excerpt(RunDb& run) const {
        const int64_t all = std::accumulate(operations_.begin(), operations_.end(), int64_t{0});
        size_t slice = 0;
        for (int64_t before = 0; slice < operations_.size(); ++slice)
            if (2 * (before += operations_[slice]) > all) break;
        if (slice == operations_.size()) return;
        KeptWriter writer(facts_, run);
        writer.keep(slice, kExcerpt);
        writer.finish();
    }

    std::vector<size_t> by_length() const {
        std::vector<size_t> counted, timed;
        for (size_t i = 0; i < facts_.steps.size(); ++i) {
            if (facts_.steps[i].is_warm_up || facts_.steps[i].is_left_out) continue;
            counted.push_back(i);
            if (timed_[i]) timed.push_back(i);
        }
        std::vector<size_t>& chosen = timed.empty() ? counted : timed;
        std::stable_sort(chosen.begin(), chosen.end(), [this](size_t a, size_t b) {
            return facts_.steps[a].length_ns() < facts_.steps[b].length_ns();
        });
        return chosen;
    }

    const TraceFacts& facts_;
    std::vector<bool> timed_;          // by index into facts.steps
    std::vector<int64_t> operations_;  // by index into facts.steps: called in it
};

const PartRegistration kKeptPart(make_kept_part);

}  // namespace

std::unique_ptr<Part> make_kept_part(const TraceFacts& facts) { return std::make_unique<KeptPart>(facts); }

size_t typical_of(std::vector<size_t> by_length) {
    if (by_length.size() > 2) std::erase(by_length, size_t{0});
    return by_length[(by_length.size() - 1) / 2];
}

}  // namespace gpushim::analysis
