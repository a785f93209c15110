// Phases of each step: from the program's ranges, and beside them from what it launched (../step/phases.h).
// One step is held at a time, and of operations of a kind in a row only the first, which is all that phases
// ask for. How long the GPU worked for a phase is the union of what was launched in it: copies to it for
// input, collectives for communication, other kernels and graphs for the rest. Steps of which rows are gone
// have none.
#include <algorithm>
#include <array>

#include "../pass/kernel_index.h"
#include "../sql/run_db.h"
#include "own_parts.h"
#include "phase_words.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostTokens = 1 << 20;  // of a step: it has no phases beyond that

class StepPart : public PartByCall<StepPart> {
  public:
    explicit StepPart(const TraceFacts& facts) : facts_(facts), index_(facts) {
        for (const Kernel& kernel : facts.kernels) {
            is_backward_.push_back(kernel.facts.purpose == KernelPurpose::gradient);
            is_optimizer_.push_back(kernel.facts.family == KernelFamily::optimizer);
            only_moves_.push_back(adds_nothing_up(kernel.facts.comm_operation));
        }
        is_backward_.push_back(false);  // the one that is not known
        is_optimizer_.push_back(false);
        only_moves_.push_back(false);
        if (has_phases()) read_ranges();
    }

    void see(const Call& call) override {
        if (!has_phases()) return;
        if (call.kind == CallKind::gone && call.lane == kNoLane)
            gone_.push_back({call.enter_ns, call.exit_ns});
        if (call.kind != CallKind::operation || call.step == kNoStep) return;
        if (call.step != step_) {
            close();
            step_ = call.step;
        }
        add(call);
    }

    void finish(RunDb& run) override {
        close();
        ManyRows phases(run, "phase");
        for (const Row& row : rows_)
            phases.add({facts_.rank_id, int64_t{row.step}, in_words(row.phase.kind), row.phase.span.start_ns,
                        row.phase.span.length_ns(), row.phase.confidence, plain(row.device_ns)});
        phases.end();
    }

  private:
    // What serves has iterations, and no forward and backward.
    bool has_phases() const { return !facts_.are_slices && facts_.iterations.empty(); }

    struct Row {
        int32_t step;
        Phase phase;
        std::optional<int64_t> device_ns;
    };
    struct Operation {
        int64_t enter_ns;
        std::optional<Interval> device;
        TokenKind kind;
    };

    static std::optional<TokenKind> kind_of(const Call& call) {
        switch (call.type) {
            case OperationClass::compute:
                return TokenKind::kernel;
            case OperationClass::comm:
                return TokenKind::collective;
            case OperationClass::graph:
                return TokenKind::graph;
            case OperationClass::h2d:
                return TokenKind::copy_h2d;
            default:
                return {};
        }
    }

    static std::optional<Interval> device_of(const Call& call) {
        if (!call.timed) return {};
        return Interval{call.times.start_ns, call.times.end_ns};
    }

    static bool adds_nothing_up(CommOperation operation) {
        return operation == CommOperation::all_gather || operation == CommOperation::broadcast ||
               operation == CommOperation::all_to_all || operation == CommOperation::send_recv;
    }

    void add(const Call& call) {
        const auto kind = kind_of(call);
        if (!kind || TraceFacts::is_migration(call)) return;
        const bool is_kernel = *kind == TokenKind::kernel || *kind == TokenKind::collective;
        const size_t kernel = is_kernel ? index_.of(call) : index_.not_known();
        const bool is_optimizer = is_optimizer_[kernel], only_moves = only_moves_[kernel];
        const bool is_backward = is_backward_[kernel];
        if (is_backward && !backward_ns_) backward_ns_ = call.enter_ns;
        if (operations_.size() < kMostTokens) operations_.push_back({call.enter_ns, device_of(call), *kind});
        const int64_t bytes = *kind == TokenKind::copy_h2d ? std::max<int64_t>(call.bytes, 0) : 0;
        Token token = {0, call.enter_ns, 0, *kind, is_optimizer};
        token.purpose.only_moves = only_moves;
        token.purpose.trains = is_backward;
        token.bytes = bytes;
        token.thread = call.thread_id;
        token.until_ns = std::max(call.enter_ns, call.exit_ns);
        if (!tokens_.empty() && are_alike(tokens_.back(), token)) {
            tokens_.back().bytes += bytes;
            tokens_.back().operations += token.operations;
            tokens_.back().until_ns = std::max(tokens_.back().until_ns, token.until_ns);
        } else if (tokens_.size() < kMostTokens) {
            tokens_.push_back(token);
        }
    }

    static bool are_alike(const Token& a, const Token& b) {
        return a.kind == b.kind && a.is_optimizer == b.is_optimizer && a.thread == b.thread &&
               a.purpose.only_moves == b.purpose.only_moves && a.purpose.trains == b.purpose.trains;
    }

    void close() {
        const auto index = static_cast<size_t>(step_);
        if (step_ != kNoStep && index < facts_.steps.size() && tokens_.size() < kMostTokens) {
            const Interval span = facts_.called_in(index);
            if (clip(gone_, span).empty()) add_phases(span);
        }
        tokens_.clear();
        operations_.clear();
        backward_ns_.reset();
    }

    void add_phases(Interval span) {
        const auto begins =
            facts_.found.source == "detected" ? StepBegins::anywhere : StepBegins::where_marked;
        for (const Phase& phase : phases_of(span, tokens_, ranges_in(span), backward_ns_, begins))
            rows_.push_back({step_, phase, device_ns(phase)});
    }

    static bool is_of(PhaseKind phase, TokenKind kind) {
        if (phase == PhaseKind::input) return kind == TokenKind::copy_h2d;
        if (phase == PhaseKind::communication) return kind == TokenKind::collective;
        return kind == TokenKind::kernel || kind == TokenKind::graph;
    }

    // None: not all of it was timed, or there was too much.
    std::optional<int64_t> device_ns(const Phase& phase) const {
        if (operations_.size() >= kMostTokens) return {};
        Intervals ran;
        const auto first =
            std::lower_bound(operations_.begin(), operations_.end(), phase.span.start_ns,
                             [](const Operation& one, int64_t at_ns) { return one.enter_ns < at_ns; });
        for (auto one = first; one != operations_.end() && one->enter_ns < phase.span.end_ns; ++one) {
            if (!is_of(phase.kind, one->kind)) continue;
            if (!one->device) return {};
            ran.push_back(*one->device);
        }
        return length_ns(unite(std::move(ran)));
    }

    // Ranges in ranges, and those of several threads, are one phase.
    void read_ranges() {
        if (!facts_.trace->base.has("v_range")) return;
        std::array<std::vector<Interval>, kPhaseKinds> by_kind;
        Query query = facts_.trace->base.prepare(
            "SELECT name, start_ns, end_ns FROM v_range WHERE end_ns IS NOT NULL AND name IS NOT NULL");
        while (query.step())
            if (const auto kind = phase_named(query.text(0)))
                by_kind[static_cast<size_t>(*kind)].push_back({query.number(1), query.number(2)});
        for (size_t kind = 0; kind < by_kind.size(); ++kind)
            for (const Interval& span : unite(std::move(by_kind[kind])))
                ranges_.push_back({span, static_cast<PhaseKind>(kind)});
        std::stable_sort(ranges_.begin(), ranges_.end(), [](const PhaseRange& a, const PhaseRange& b) {
            return a.span.start_ns < b.span.start_ns;
        });
    }

    // Steps come in order; of each kind at most one range lies over a step's begin.
    std::vector<PhaseRange> ranges_in(Interval step) {
        while (next_range_ < ranges_.size() && ranges_[next_range_].span.start_ns < step.end_ns)
            open_.push_back(ranges_[next_range_++]);
        std::erase_if(open_, [&](const PhaseRange& range) { return range.span.end_ns <= step.start_ns; });
        return open_;
    }

    const TraceFacts& facts_;
    const KernelIndex index_;
    std::vector<bool> is_backward_, is_optimizer_, only_moves_;  // by kernel
    std::vector<PhaseRange> ranges_, open_;
    size_t next_range_ = 0;
    std::vector<Token> tokens_;
    std::vector<Operation> operations_;  // of the step
    std::optional<int64_t> backward_ns_;
    int32_t step_ = kNoStep;
    Intervals gone_;
    std::vector<Row> rows_;
};

const PartRegistration kStepPart(make_step_part);

}  // namespace

std::unique_ptr<Part> make_step_part(const TraceFacts& facts) { return std::make_unique<StepPart>(facts); }

}  // namespace gpushim::analysis
