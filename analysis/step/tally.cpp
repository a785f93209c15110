#include "tally.h"

#include <algorithm>

#include "keys.h"

namespace gpushim::analysis {

void Tally::add(const Token& token, std::optional<int32_t> lead_lane) {
    const bool is_copy = token.kind == TokenKind::copy_h2d, is_sync = token.kind == TokenKind::sync;
    copies += is_copy;
    syncs += is_sync;
    reads += is_sync && token.bytes > 0;
    optimizers += token.is_optimizer;
    collectives += token.kind == TokenKind::collective;
    loads += token.is_load;
    note_update(token);
    if (is_sync || (lead_lane && (is_copy || token.lane != *lead_lane))) return;
    // Of copies only that there was one: how long a batch is differs.
    const uint64_t name = is_copy ? 0 : static_cast<uint64_t>(name_of(token));
    const uint64_t hash = mixed(mixed(name + 1) + static_cast<uint64_t>(token.kind));
    signature += hash;
    ++launches;
    ++bins[hash % bins.size()];
}

// A framework computes all gradients in a thread of its own, then the program's thread updates all
// parameters. An update in the same thread as gradients may be that of one layer, while the others' are still
// computed.
void Tally::note_update(const Token& token) {
    gradients += token.purpose.trains;
    if (token.is_optimizer) {
        updates += gradients_thread_ && *gradients_thread_ != token.thread;
        gradients_thread_.reset();
    } else if (token.purpose.trains) {
        gradients_thread_ = token.thread;
    }
}

Tally Tally::operator-(const Tally& earlier) const {
    Tally between = *this;
    between.signature -= earlier.signature;
    between.launches -= earlier.launches;
    between.copies -= earlier.copies;
    between.syncs -= earlier.syncs;
    between.reads -= earlier.reads;
    between.optimizers -= earlier.optimizers;
    between.collectives -= earlier.collectives;
    between.loads -= earlier.loads;
    between.gradients -= earlier.gradients;
    between.updates -= earlier.updates;
    for (size_t i = 0; i < bins.size(); ++i) between.bins[i] -= earlier.bins[i];
    return between;
}

int64_t in_common(const Tally& a, const Tally& b) {
    int64_t sum = 0;
    for (size_t i = 0; i < a.bins.size(); ++i) sum += std::min(a.bins[i], b.bins[i]);
    return sum;
}

bool is_near(const Tally& a, const Tally& b) {
    constexpr double kNear = 0.9;
    const auto larger = static_cast<double>(std::max(a.launches, b.launches));
    return static_cast<double>(in_common(a, b)) >= kNear * larger;
}

}  // namespace gpushim::analysis
