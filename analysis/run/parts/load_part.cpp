// Code that was loaded: in all, and in steps that are no warm-up. Of the rows that are there.
#include "../sql/run_db.h"
#include "own_parts.h"

namespace gpushim::analysis {

namespace {

class LoadPart : public PartByCall<LoadPart> {
  public:
    explicit LoadPart(const TraceFacts& facts) : facts_(facts) {}

    void see(const Call& call) override {
        if (call.kind != CallKind::load) return;
        const int64_t took_ns = call.exit_ns - call.enter_ns;
        ++loads_;
        load_ns_ += took_ns;
        if (!is_after_warm_up(call)) return;
        ++late_;
        late_ns_ += took_ns;
    }

    void finish(RunDb& run) override {
        // Slices of a run say nothing of warm-up.
        const bool has_steps = !facts_.are_slices && !facts_.steps.empty();
        const auto if_steps = [&](int64_t value) { return has_steps ? Value(value) : Value(nullptr); };
        run.add("load_stat", {facts_.rank_id, loads_, load_ns_, if_steps(late_), if_steps(late_ns_)});
    }

  private:
    bool is_after_warm_up(const Call& call) const {
        const auto step = static_cast<size_t>(call.step);
        return call.step >= 0 && step < facts_.steps.size() && !facts_.steps[step].is_warm_up;
    }

    const TraceFacts& facts_;
    int64_t loads_ = 0, load_ns_ = 0, late_ = 0, late_ns_ = 0;
};

const PartRegistration kLoadPart(make_load_part);

}  // namespace

std::unique_ptr<Part> make_load_part(const TraceFacts& facts) { return std::make_unique<LoadPart>(facts); }

}  // namespace gpushim::analysis
