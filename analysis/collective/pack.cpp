#include "pack.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

// The optimizer's first kernel behind a collective; there may be others before it: in sharded training the
// last step's parameters are gathered behind the optimizer.
int64_t optimizer_from_ns(const std::vector<StepOp>& ops) {
    int64_t reduced_ns = INT64_MAX, from_ns = INT64_MAX;
    for (const StepOp& op : ops)
        if (op.kind == StepOpKind::reduces) reduced_ns = std::min(reduced_ns, op.span.end_ns);
    for (const StepOp& op : ops)
        if (op.kind == StepOpKind::optimizes && op.span.start_ns >= reduced_ns)
            from_ns = std::min(from_ns, op.span.start_ns);
    return from_ns;
}

struct Exchange {
    int64_t last_start_ns = INT64_MIN;    // of its collectives
    int64_t first_end_ns = INT64_MAX;     // of any of them
    int64_t backward_end_ns = INT64_MIN;  // of what was before its last one
    int64_t until_ns = INT64_MAX;         // the optimizer, or other work
};

std::optional<Exchange> exchange_of(const std::vector<StepOp>& ops) {
    Exchange exchange;
    exchange.until_ns = optimizer_from_ns(ops);
    for (const StepOp& op : ops) {
        if (op.kind != StepOpKind::reduces || op.span.start_ns >= exchange.until_ns) continue;
        exchange.last_start_ns = std::max(exchange.last_start_ns, op.span.start_ns);
        exchange.first_end_ns = std::min(exchange.first_end_ns, op.span.end_ns);
    }
    if (exchange.last_start_ns == INT64_MIN) return {};
    for (const StepOp& op : ops) {
        if (op.kind != StepOpKind::works) continue;
        if (op.span.start_ns < exchange.last_start_ns)
            exchange.backward_end_ns = std::max(exchange.backward_end_ns, op.span.end_ns);
        else
            exchange.until_ns = std::min(exchange.until_ns, op.span.start_ns);
    }
    return exchange;
}

}  // namespace

std::optional<PackTimes> pack_times(const std::vector<StepOp>& of_step) {
    const auto exchange = exchange_of(of_step);
    if (!exchange) return {};
    const Interval before = {exchange->backward_end_ns, exchange->last_start_ns};
    const Interval behind = {std::max(exchange->backward_end_ns, exchange->first_end_ns), exchange->until_ns};
    std::vector<Interval> pack, unpack;
    for (const StepOp& op : of_step) {
        // Between two collectives a copy is taken to pack for the second.
        const bool is_before = op.span.start_ns < exchange->last_start_ns;
        if (op.kind == StepOpKind::concatenates || (op.kind == StepOpKind::copies && is_before))
            pack.push_back(op.span);
        if (op.kind == StepOpKind::splits || (op.kind == StepOpKind::copies && !is_before))
            unpack.push_back(op.span);
    }
    return PackTimes{length_ns(clip(unite(std::move(pack)), before)),
                     length_ns(clip(unite(std::move(unpack)), behind))};
}

}  // namespace gpushim::analysis
