#include "attribute.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "piece_cause.h"

namespace gpushim::analysis {

namespace {

// The run's clock at its worst may be far worse than at this moment.
int64_t clock_error_ns(const Next& next, const IdleFacts& facts) {
    return next.likely_ns > 0 ? std::min(next.likely_ns, facts.clock_error_ns) : facts.clock_error_ns;
}

// One gap with an N that can be asked about. `lag_ns`: how much earlier it is asked.
class Question {
  public:
    // `result`: an empty one.
    Question(const Gap& gap, const HostLine& line, const HostLines& lines, const IdleFacts& facts,
             Attributed& result)
        : gap_(gap),
          next_(*gap.next),
          line_(line),
          lines_(lines),
          facts_(facts),
          launched_ns_(std::max(next_.launch_enter_ns, next_.launch_exit_ns)),
          could_start_ns_(next_.launch_enter_ns + facts.device.latency_ns),
          lag_ns_(could_start_ns_ > gap.from_ns ? facts.device.latency_ns : 0),
          result_(result) {}

    void answer() {
        const int64_t from_ns = gap_.from_ns - lag_ns_, until_ns = gap_.until_ns - lag_ns_;
        const int64_t host_end_ns = std::clamp(next_.launch_enter_ns, from_ns, until_ns);
        const int64_t call_end_ns = std::clamp(launched_ns_, host_end_ns, until_ns);
        host_part(from_ns, host_end_ns);
        put(cause_of_launch(), host_end_ns, call_end_ns);
        put(queued_cause(), call_end_ns, until_ns);
        result_.drained_by_sync = drained_by_sync();
        note_ranges(call_end_ns);
    }

  private:
    void host_part(int64_t from_ns, int64_t until_ns) {
        OutsidePart part = OutsidePart::other;
        int64_t part_until_ns = INT64_MIN;
        const std::vector<HostPiece> pieces = line_.pieces(from_ns, until_ns);
        for (size_t i = 0; i < pieces.size(); ++i) {
            const HostPiece& piece = pieces[i];
            if (is_told_in_loop(piece)) {
                put(Cause::launch_bound, piece.from_ns, piece.until_ns);
                continue;
            }
            if (const auto cause = cause_of_sample(piece.does)) {
                put(*cause, piece.from_ns, piece.until_ns);
                note(*cause, piece);
                continue;
            }
            // What comes behind the last piece is N's own call.
            if (i + 1 < pieces.size() && is_work_of_operator(piece)) {
                put(Cause::operator_cpu, piece.from_ns, piece.until_ns);
                continue;
            }
            if (decides(piece.what)) {
                const Cause cause = cause_of_call(piece, gap_.gpu);
                put(cause, piece.from_ns, piece.until_ns);
                note(cause, piece);
                continue;
            }
            if (piece.from_ns >= part_until_ns) {
                const Stretch stretch = line_.around(piece.from_ns);
                part = part_of(stretch, line_.is_told_at(piece.from_ns));
                part_until_ns = stretch.after ? stretch.after->from_ns : INT64_MAX;
            }
            put_in_ranges(part, piece);
        }
    }

    // Where nothing else told what the thread does, the program's own word for it may.
    void put_in_ranges(OutsidePart part, const HostPiece& piece) {
        if (part != OutsidePart::before_input && part != OutsidePart::other) return put_outside(part, piece);
        in_ranges(piece.from_ns, piece.until_ns,
                  [&](const RangeHere& here, int64_t from_ns, int64_t until_ns) {
                      HostPiece some = piece;
                      some.from_ns = from_ns;
                      some.until_ns = until_ns;
                      const auto told = cause_of_sample(here.does);
                      if (!told || !is_about(here, part)) return put_outside(part, some);
                      put(*told, from_ns, until_ns);
                      note(*told, some);
                  });
    }

    // What ended before N is no part of N's work. One that goes on may be around the whole program; but a
    // loader may copy its batch itself.
    bool is_about(const RangeHere& here, OutsidePart part) const {
        return here.told_is_over || (here.does == PythonDoes::loads && part == OutsidePart::before_input);
    }

    RangeHere range_at(int64_t t_ns) const {
        return facts_.range_at ? facts_.range_at(next_.thread, t_ns, next_.launch_enter_ns) : RangeHere{};
    }

    // One after the other, what is in none as well.
    template <class Take>
    void in_ranges(int64_t from_ns, int64_t until_ns, Take take) const {
        while (from_ns < until_ns) {
            const RangeHere here = range_at(from_ns);
            const int64_t end_ns = std::min(until_ns, std::max(here.until_ns, from_ns + 1));
            take(here, from_ns, end_ns);
            from_ns = end_ns;
        }
    }

    // Of what is asked up to then: of what comes behind, the thread was no longer the reason.
    void note_ranges(int64_t until_ns) {
        if (!facts_.range_at) return;
        for (const Piece& piece : result_.pieces)
            in_ranges(piece.from_ns - lag_ns_, std::min(piece.until_ns - lag_ns_, until_ns),
                      [&](const RangeHere& here, int64_t from_ns, int64_t end_ns) {
                          if (here.range == kNotSampled) return;
                          result_.ranges.push_back(
                              {piece.cause, from_ns + lag_ns_, end_ns + lag_ns_, here.range, here.is_over});
                      });
    }

    // Up to where N began: a call may wait for N itself.
    Cause cause_of_launch() const {
        const int64_t in_call_ns = std::min(launched_ns_, gap_.until_ns) - next_.launch_enter_ns;
        return !next_.is_copy_h2d && in_call_ns >= kSlowNs ? Cause::slow_call : Cause::launch_call;
    }

    // Where nothing was told, the calls around it say so.
    bool is_told_in_loop(const HostPiece& piece) const {
        const bool is_off = piece.what == What::ready || piece.what == What::blocked;
        return line_.is_told_at(piece.from_ns) && !is_off && may_be_in_loop(piece.what) &&
               line_.is_in_launch_loop(piece, gap_.gpu);
    }

    // While other threads launch, it may be for those that it waits: a pool that works for all GPUs.
    bool is_work_of_operator(const HostPiece& piece) const {
        const auto work = line_.work_of_operator(piece);
        return work && std::none_of(lines_.begin(), lines_.end(), [&](const auto& other) {
                   return &other.second != &line_ && other.second.launches_in(*work);
               });
    }

    void put_outside(OutsidePart part, const HostPiece& piece) {
        if (part == OutsidePart::handed_over && piece.what == What::blocked) return put_of_giver(piece);
        const auto column = static_cast<size_t>(piece.what) - static_cast<size_t>(What::other_call);
        const Cause cause = kOutside[static_cast<size_t>(part)][column];
        put(cause, piece.from_ns, piece.until_ns, names_what_blocked(cause) ? piece.blocked_on : kNotSampled);
        note(cause, piece);
        if (piece.what == What::ready) note_ready(cause, piece.until_ns - piece.from_ns);
    }

    // What the thread waited for was that the other one hands over.
    void put_of_giver(const HostPiece& waiting) {
        for (const HostPiece& piece : giver_->pieces(waiting.from_ns, waiting.until_ns)) {
            if (const auto told = cause_of_sample(piece.does)) {
                put(*told, piece.from_ns, piece.until_ns);
                note(*told, piece);
                continue;
            }
            const bool is_off = piece.what == What::ready || piece.what == What::blocked;
            const Cause cause = decides(piece.what) ? cause_of_call(piece, gap_.gpu)
                                : is_off            ? Cause::host_blocked
                                                    : Cause::between_launches;
            put(cause, piece.from_ns, piece.until_ns, is_off ? waiting.blocked_on : kNotSampled);
        }
    }

    void note_ready(Cause cause, int64_t ns) {
        for (Contended& row : result_.contended)
            if (row.cause == cause) {
                row.ns += ns;
                return;
            }
        result_.contended.push_back({cause, ns});
    }

    void note(Cause cause, const HostPiece& piece) {
        if (group_of(cause) == CauseGroup::input && piece.stage != LoadingStage::untold)
            result_.stages.push_back({piece.stage, piece.from_ns + lag_ns_, piece.until_ns + lag_ns_});
        if (piece.python_line == kNotSampled) return;
        result_.python.push_back({cause, piece.from_ns + lag_ns_, piece.until_ns + lag_ns_, piece.python_line,
                                  line_.samples_in(piece.from_ns, piece.until_ns)});
    }

    OutsidePart part_of(const Stretch& stretch, bool is_told) {
        if (!stretch.after) return is_told ? OutsidePart::outside_framework : OutsidePart::other;
        const int64_t apart_ns =
            stretch.before ? stretch.after->from_ns - stretch.before->until_ns : INT64_MAX;
        if (is_told && apart_ns < kBetweenOperatorsNs) return OutsidePart::between_operators;
        if (apart_ns < kLaunchLoopGapNs && launches_here(*stretch.before) && launches_here(*stretch.after))
            return OutsidePart::launch_loop;
        const bool is_before_input = stretch.call && is_input_copy(*stretch.call);
        if (!is_told) return is_before_input ? OutsidePart::before_input : untold_part(stretch, apart_ns);
        // A loader that tells when it loads does not load otherwise.
        return is_before_input && !line_.is_loading_told() ? OutsidePart::loading_untold
                                                           : OutsidePart::outside_framework;
    }

    OutsidePart untold_part(const Stretch& stretch, int64_t apart_ns) {
        if (!launches_here(*stretch.after)) return OutsidePart::other;
        if (!stretch.before)
            return was_handed_over(stretch.after->from_ns) ? OutsidePart::handed_over : OutsidePart::other;
        return apart_ns < kBetweenOperatorsNs && launches_here(*stretch.before)
                   ? OutsidePart::between_launches
                   : OutsidePart::other;
    }

    // Another thread launched less than 1 ms ago, and this one has just come back from being off its CPU: a
    // backward pass has a thread of its own, and neither runs while the other does.
    bool was_handed_over(int64_t launched_ns) {
        const std::vector<HostPiece> before = line_.pieces(launched_ns - kBetweenOperatorsNs, launched_ns);
        if (std::none_of(before.begin(), before.end(),
                         [](const HostPiece& piece) { return piece.what == What::blocked; }))
            return false;
        std::optional<int64_t> last_ns;
        for (const auto& [thread, line] : lines_) {
            if (&line == &line_) continue;
            const auto at_ns = line.launched_by(launched_ns, gap_.gpu);
            if (!at_ns || (last_ns && *at_ns <= *last_ns)) continue;
            last_ns = at_ns;
            giver_ = &line;
        }
        return last_ns.has_value();
    }

    bool launches_here(const HostPiece& piece) const {
        return piece.what == What::launch && piece.gpu == gap_.gpu;
    }

    bool is_input_copy(const HostPiece& call) const {
        if (!facts_.is_input_copy) return false;
        const bool is_next = call.enter_ns == next_.launch_enter_ns;
        return (!is_next || next_.is_copy_h2d) && facts_.is_input_copy(next_.thread, call.enter_ns);
    }

    // How long N was submitted says why it did not run, whatever part of that is left after the shift.
    Cause queued_cause() const {
        const int64_t queued_ns = gap_.until_ns - std::max(gap_.from_ns, launched_ns_);
        return cause_in_queue(next_.waits_for, queued_ns, could_start_ns_ < gap_.from_ns, facts_.device);
    }

    // N behind the sync: what was in the queue before it was not the reason that it ran empty. A wait may end
    // with what it waited for, by the device's clock.
    bool drained_by_sync() const {
        const int64_t error_ns = clock_error_ns(next_, facts_);
        const auto sync = line_.sync_at(gap_.from_ns - error_ns, gap_.from_ns + error_ns);
        return sync && next_.launch_enter_ns >= sync->until_ns - error_ns;
    }

    void put(Cause cause, int64_t from_ns, int64_t until_ns, int32_t blocked_on = kNotSampled) {
        if (until_ns <= from_ns) return;
        auto& pieces = result_.pieces;
        if (!pieces.empty() && pieces.back().cause == cause && pieces.back().blocked_on == blocked_on)
            pieces.back().until_ns = until_ns + lag_ns_;
        else
            pieces.push_back({cause, from_ns + lag_ns_, until_ns + lag_ns_, blocked_on});
    }

    const Gap& gap_;
    const Next& next_;
    const HostLine& line_;
    const HostLines& lines_;
    const HostLine* giver_ = nullptr;  // the thread that launched before this one
    const IdleFacts& facts_;
    const int64_t launched_ns_;     // Lx
    const int64_t could_start_ns_;  // on an empty queue
    const int64_t lag_ns_;
    Attributed& result_;
};

// N was in the queue well before the gap, however far the clocks may be apart: what is asked then is how long
// the gap is, and both its ends are of one clock.
bool was_surely_queued(const Gap& gap, const IdleFacts& facts) {
    const Next& next = *gap.next;
    const int64_t ready_ns = std::max(next.launch_exit_ns, next.launch_enter_ns + facts.device.latency_ns);
    return ready_ns + clock_error_ns(next, facts) <= gap.from_ns;
}

// N was in the queue when the gap began, could have started by then, and no wait of the host from before its
// launch ended the queue: nothing of the gap is the host's.
bool was_ready(const Gap& gap, const IdleFacts& facts) {
    const Next& next = *gap.next;
    return next.launch_exit_ns <= gap.from_ns &&
           next.launch_enter_ns + facts.device.latency_ns < gap.from_ns &&
           next.launch_enter_ns < gap.from_ns - 2 * clock_error_ns(next, facts);
}

// No launch was missing. What is longer than a start on an empty queue is not the GPU's way from node to
// node: a node may wait for a function of the host or an event in the graph, of which no trace tells.
Cause cause_in_graph(const Gap& gap, const DeviceFacts& device) {
    return gap.length_ns() <= device.latency_p95_ns ? Cause::graph_gap : Cause::device_other;
}

// A host that goes through managed memory, or a kernel, touches one page after the other: between two of 2 MB
// such a host takes 0.1 to 4 ms. What takes longer does something else.
constexpr int64_t kNextPageNs = 5'000'000;

bool is_between_pages(const Gap& gap) {
    return gap.is_behind_page && gap.next->is_page && gap.length_ns() <= kNextPageNs;
}

// What a thread captures runs later: nothing of it follows, and it is not the end of the program either.
void behind_the_last(const Gap& gap, const HostLines& lines, std::vector<Piece>& result) {
    std::vector<int64_t> threads;
    for (const auto& [thread, line] : lines) threads.push_back(thread);
    std::sort(threads.begin(), threads.end());
    const auto makes_graph = [](const HostPiece& piece) { return piece.what == What::making_graph; };
    for (const int64_t thread : threads) {
        const std::vector<HostPiece> pieces = lines.at(thread).pieces(gap.from_ns, gap.until_ns);
        if (std::none_of(pieces.begin(), pieces.end(), makes_graph)) continue;
        for (const HostPiece& piece : pieces) {
            const Cause cause = makes_graph(piece) ? Cause::graph_update : Cause::tail;
            if (!result.empty() && result.back().cause == cause)
                result.back().until_ns = piece.until_ns;
            else
                result.push_back({cause, piece.from_ns, piece.until_ns});
        }
        return;
    }
    result.push_back({Cause::tail, gap.from_ns, gap.until_ns});
}

}  // namespace

std::optional<Cause> cause_of_all(const Gap& gap, const IdleFacts& facts) {
    if (!gap.next || gap.length_ns() <= 0) return {};
    if (!gap.next->same_process) return Cause::other_process;
    if (is_between_pages(gap)) return Cause::managed_pages;
    if (gap.next->is_later_node) return cause_in_graph(gap, facts.device);
    if (gap.next->launched_before)  // the host did not keep the GPU waiting, whatever it did
        return cause_in_queue(gap.next->waits_for, gap.length_ns(), true, facts.device);
    if (2 * clock_error_ns(*gap.next, facts) > gap.length_ns() && !was_surely_queued(gap, facts))
        return Cause::unresolved;
    if (was_ready(gap, facts))
        return cause_in_queue(gap.next->waits_for, gap.length_ns(), true, facts.device);
    return {};
}

Attributed attribute(const Gap& gap, const HostLines& lines, const IdleFacts& facts) {
    Attributed answer;
    attribute(gap, lines, facts, answer);
    return answer;
}

void attribute(const Gap& gap, const HostLines& lines, const IdleFacts& facts, Attributed& answer) {
    answer.clear();
    if (gap.length_ns() <= 0) return;
    if (!gap.next) return behind_the_last(gap, lines, answer.pieces);
    if (const auto cause = cause_of_all(gap, facts))
        return answer.pieces.push_back({*cause, gap.from_ns, gap.until_ns});
    static const HostLine kNothingKnown;
    const auto line = lines.find(gap.next->thread);
    Question(gap, line != lines.end() ? line->second : kNothingKnown, lines, facts, answer).answer();
    if (!tile(answer.pieces, gap.from_ns, gap.until_ns))
        throw std::logic_error("the causes of idle time do not add up to it");
}

bool tile(std::span<const Piece> pieces, int64_t from_ns, int64_t until_ns) {
    for (const Piece& piece : pieces) {
        if (piece.from_ns != from_ns || piece.until_ns <= piece.from_ns) return false;
        from_ns = piece.until_ns;
    }
    return from_ns == until_ns;
}

std::vector<Piece> split_at(std::span<const Piece> pieces, std::span<const int64_t> boundaries_ns) {
    std::vector<Piece> result;
    auto boundary = boundaries_ns.begin();
    for (Piece piece : pieces) {
        while (boundary != boundaries_ns.end() && *boundary <= piece.from_ns) ++boundary;
        for (; boundary != boundaries_ns.end() && *boundary < piece.until_ns; ++boundary) {
            if (*boundary == piece.from_ns) continue;  // the same one twice
            result.push_back({piece.cause, piece.from_ns, *boundary, piece.blocked_on});
            piece.from_ns = *boundary;
        }
        result.push_back(piece);
    }
    return result;
}

void add(IdleByCause& sums, std::span<const Piece> pieces) {
    for (const Piece& piece : pieces) sums[piece.cause] += piece.until_ns - piece.from_ns;
}

}  // namespace gpushim::analysis
