// Phases of each step: from the program's ranges, and beside them from what it launched (../step/phases.h).
// One step is held at a time, and of operations of a kind in a row only the first, which is all that phases
// ask for. How long the GPU worked for a phase is the union of what was launched in it: copies to it for
// input, collectives for communication, other kernels and graphs for the rest. Steps of which rows are gone
// have none.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "../pass/kernel_index.h"
#include "../sql/run_db.h"
#include "own_parts.h"
#include "phase_words.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostTokens = 1 << 20;  // of a step: it has no phases beyond that

class StepPart : public PartByCall<StepPart> {
  public:
    explicit StepPart(const TraceFacts& facts)
        : facts_(facts), index_(facts), has_phases_(!facts.are_slices && facts.iterations.empty()) {
        for (const Kernel& kernel : facts.kernels)
            roles_.push_back(
                static_cast<Role>((kernel.facts.family == KernelFamily::optimizer ? kOptimizer : 0) |
                                  (kernel.facts.purpose == KernelPurpose::gradient ? kBackward : 0) |
                                  (adds_nothing_up(kernel.facts.comm_operation) ? kOnlyMoves : 0)));
        roles_.push_back(0);  // of the one that is not known
        if (has_phases_) read_ranges();
    }

    bool has_work() const override { return has_phases_; }
    [[gnu::always_inline]] void see(const Call& call) override {
        if (!has_phases_) return;
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
        RowsInOrder phases(run, "phase");
        for (const Row& row : rows_)
            phases.add({facts_.rank_id, int64_t{row.step}, in_words(row.phase.kind), row.phase.span.start_ns,
                        row.phase.span.length_ns(), row.phase.confidence, plain(row.device_ns)});
        phases.end();
    }

  private:
    struct Row {
        int32_t step;
        Phase phase;
        std::optional<int64_t> device_ns;
    };
    struct Operation {
        int64_t enter_ns;
        Interval device;
        TokenKind kind;
        bool timed;
    };

    // Of a kernel, as its name tells: what it has of these.
    using Role = uint8_t;
    enum : Role { kOptimizer = 1, kBackward = 2, kOnlyMoves = 4 };

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

    static bool adds_nothing_up(CommOperation operation) {
        return operation == CommOperation::all_gather || operation == CommOperation::broadcast ||
               operation == CommOperation::all_to_all || operation == CommOperation::send_recv;
    }

    [[gnu::always_inline]] void add(const Call& call) {
        const auto kind = kind_of(call);
        if (!kind || TraceFacts::is_migration(call)) return;
        const bool is_kernel = *kind == TokenKind::kernel || *kind == TokenKind::collective;
        const Role role = is_kernel ? roles_[index_.of(call)] : Role{0};
        if ((role & kBackward) != 0 && !backward_ns_) backward_ns_ = call.enter_ns;
        if (operations_.size() < kMostTokens)
            operations_.push_back(
                {call.enter_ns, {call.times.start_ns, call.times.end_ns}, *kind, call.timed});
        const int64_t bytes = *kind == TokenKind::copy_h2d ? std::max<int64_t>(call.bytes, 0) : 0;
        const int64_t until_ns = std::max(call.enter_ns, call.exit_ns);
        if (last_kind_ == *kind && last_role_ == role && last_thread_ == call.thread_id && !tokens_.empty()) {
            Token& last = tokens_.back();
            last.bytes += bytes;
            ++last.operations;
            last.until_ns = std::max(last.until_ns, until_ns);
        } else if (tokens_.size() < kMostTokens) {
            add_token(call, *kind, role, bytes, until_ns);
        }
    }

    void add_token(const Call& call, TokenKind kind, Role role, int64_t bytes, int64_t until_ns) {
        Token token = {0, call.enter_ns, 0, kind, (role & kOptimizer) != 0};
        token.purpose.only_moves = (role & kOnlyMoves) != 0;
        token.purpose.trains = (role & kBackward) != 0;
        token.bytes = bytes;
        token.thread = call.thread_id;
        token.until_ns = until_ns;
        tokens_.push_back(token);
        last_kind_ = kind;
        last_role_ = role;
        last_thread_ = call.thread_id;
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
        const size_t before = rows_.size();
        for (const Phase& phase : phases_of(span, tokens_, ranges_in(span), backward_ns_, begins))
            rows_.push_back({step_, phase, device_ns(phase)});
        // As the table has them.
        std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(before), rows_.end(),
                  [](const Row& a, const Row& b) {
                      const auto key = [](const Phase& phase) {
                          return std::pair(in_words(phase.kind), phase.span.start_ns);
                      };
                      return key(a.phase) < key(b.phase);
                  });
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
            if (!one->timed) return {};
            ran.push_back(one->device);
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
    const bool has_phases_;    // what serves has iterations, and no forward and backward
    std::vector<Role> roles_;  // by kernel
    std::vector<PhaseRange> ranges_, open_;
    size_t next_range_ = 0;
    std::vector<Token> tokens_;
    TokenKind last_kind_ = TokenKind::sync;  // of them the last one
    Role last_role_ = 0;
    int64_t last_thread_ = 0;
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
