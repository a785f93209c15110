// What is in a stretch of tokens, as sums: the difference of two running tallies is that of what lies
// between. The signature is a sum over the operations' names, so it says which there were and how often, not
// in which order, nor with which grids. Syncs are no operations: how often a host looks is not the model's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "token.h"

namespace gpushim::analysis {

struct Tally {
    uint64_t signature = 0;
    int64_t launches = 0;
    int64_t copies = 0, syncs = 0, optimizers = 0, collectives = 0, loads = 0;
    int64_t reads = 0;               // waits behind which something has been copied to the host
    int64_t gradients = 0;           // kernels that compute some
    int64_t updates = 0;             // of the parameters, by all gradients together: see `note_update`
    std::array<int64_t, 32> bins{};  // launches by name, to tell how much two stretches have in common

    // With a lead lane only that lane's operations count: where several lanes run, each in its own order, how
    // they interleave is chance. Cues count from every lane.
    void add(const Token& token, std::optional<int32_t> lead_lane);
    Tally operator-(const Tally& earlier) const;

  private:
    void note_update(const Token& token);

    std::optional<int64_t> gradients_thread_;  // since the last update; of a running tally
};

int64_t in_common(const Tally& a, const Tally& b);  // launches
bool is_near(const Tally& a, const Tally& b);  // a kernel more or less, as where a step also logs something

}  // namespace gpushim::analysis
