// A part of the analysis of one trace: one file that registers itself. All parts are given the same calls, in
// order of enter, and each writes rows of its own tables when the trace is over. Each call is given
//
//   see    once, as it was recorded, whether it has device times or not;
//   take   where everything that ran has device times: once for each piece it lies in, as it would have been
//          without our events. In a piece the calls at its begin, which were entered before it and lasted or
//          ran on into it, are given first, marked `before`;
//   behind calls entered behind the piece, until each GPU has started something: for who asks what came next.
//          In order for each thread.
//
//   trace     ──────────────────────────────────────────────
//   pieces    |─begin─ take … ─| behind … end  |─begin─…      windows, cut where steps begin
//
// A part belongs to one trace. It is made and finished by one thread, and given calls by one at a time, which
// may be others.
#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "../../busy/timed_span.h"
#include "../../interval/interval.h"
#include "facts.h"

namespace gpushim::analysis {

class RunDb;
struct Undisturbed;

struct WholeStep {
    int32_t step;   // index into facts.steps
    Interval span;  // in the piece's time
};

struct TimedPiece {
    Interval host;                // asked for
    std::vector<Interval> known;  // by index of GPU: what ran in it is all there; empty: nothing is known
    // That lie wholly within all of `known`, and of whose operations enough have device times
    // (is_refused), by begin; they do not overlap.
    std::vector<WholeStep> steps;
    std::vector<double>
        coverage;  // by GPU: operations with device times, of those launched in it; 1: none were
    std::vector<TimedSpan::Untimed> untimed;  // by GPU
    const Undisturbed* would = nullptr;       // tells when the program was there; null: the times are its own
};

class Part {
  public:
    virtual ~Part() = default;
    // False: no call of this trace says anything to it, so it is given none; begin, end and finish come all
    // the same. Asked once.
    virtual bool has_work() const { return true; }
    // Chains (busy/chains.h) have times together: of one who wants to know what an operation took, they have
    // none.
    virtual bool wants_chains() const { return false; }
    // What it takes of pieces takes about as long as what all others do, so it has a thread of its own where
    // there are processors for that.
    virtual bool takes_long() const { return false; }
    virtual void see(const Call&) {}
    virtual void begin(const TimedPiece&) {}
    virtual void take(const Call&, bool /*before*/) {}
    virtual void behind(const Call&) {}
    virtual void end() {}
    virtual void finish(RunDb&) = 0;

    // Some at a time, one after the other.
    virtual void see_all(std::span<const Call> calls) {
        for (const Call& call : calls) see(call);
    }
    virtual void take_all(std::span<const Call> calls, bool before) {
        for (const Call& call : calls) take(call, before);
    }
};

// A part that knows at compile time which of the two it has: most have one of them, and all together would be
// asked fifty times for each call. What the busiest do for each operation is inlined by force: it is in two
// places, here and where a single call is given, for which compilers take it for too large.
template <class Self>
class PartByCall : public Part {
  public:
    void see_all(std::span<const Call> calls) final {
        if constexpr (!std::is_same_v<decltype(&Self::see), void (Part::*)(const Call&)>)
            for (const Call& call : calls) static_cast<Self*>(this)->Self::see(call);
    }
    void take_all(std::span<const Call> calls, bool before) final {
        if constexpr (!std::is_same_v<decltype(&Self::take), void (Part::*)(const Call&, bool)>)
            for (const Call& call : calls) static_cast<Self*>(this)->Self::take(call, before);
    }
};

struct PartRegistration {
    explicit PartRegistration(std::unique_ptr<Part> (*make)(const TraceFacts&));
};
std::vector<std::unique_ptr<Part>> make_parts(const TraceFacts& facts);

}  // namespace gpushim::analysis
