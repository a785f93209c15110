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
// A part belongs to one trace. It is made and finished by one thread, and given calls by one, which may be
// another.
#pragma once

#include <memory>
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
    // Chains (busy/chains.h) have times together: of one who wants to know what an operation took, they have
    // none.
    virtual bool wants_chains() const { return false; }
    virtual void see(const Call&) {}
    virtual void begin(const TimedPiece&) {}
    virtual void take(const Call&, bool /*before*/) {}
    virtual void behind(const Call&) {}
    virtual void end() {}
    virtual void finish(RunDb&) = 0;
};

struct PartRegistration {
    explicit PartRegistration(std::unique_ptr<Part> (*make)(const TraceFacts&));
};
std::vector<std::unique_ptr<Part>> make_parts(const TraceFacts& facts);

}  // namespace gpushim::analysis
