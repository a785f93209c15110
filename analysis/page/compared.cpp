#include "compared.h"

#include <algorithm>

#include "../collective/operation.h"

namespace gpushim::analysis {

bool is_one_rank(const PageInput& input) {
    Query ranks = input.source.run.prepare("SELECT count(*) FROM rank");
    return input.source.number("ranks_expected").value_or(1) <= 1 && ranks.step() && ranks.number(0) <= 1;
}

bool compares_ranks(const PageInput& input) {
    Query suspect = input.source.run.prepare("SELECT 1 FROM skew WHERE suspect_rank IS NOT NULL");
    return !input.of("skew")["lost_gpu_ns"].is_null() && !suspect.step();
}

bool reduces(const PageInput& input) {
    const auto& kinds = input.of("collectives").items();
    return std::any_of(kinds.begin(), kinds.end(), [](const Json& kind) {
        const auto op = operation_named(kind["op"].words());
        return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce_scatter ||
               op == CollectiveOp::all_gather;
    });
}

}  // namespace gpushim::analysis
