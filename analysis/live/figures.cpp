#include "figures.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr double kNoAccident = 0.01;  // of the time

}  // namespace

GpuParts& GpuParts::operator+=(const GpuParts& other) {
    whole_ns += other.whole_ns;
    productive_ns += other.productive_ns;
    transfer_ns += other.transfer_ns;
    peer_wait_ns += other.peer_wait_ns;
    copy_ns += other.copy_ns;
    is_wait_known &= other.is_wait_known;
    idle += other.idle;
    return *this;
}

bool RunNow::is_simulated() const {
    return std::any_of(ranks.begin(), ranks.end(), [](const RankNow& rank) {
        return std::any_of(rank.gpus.begin(), rank.gpus.end(),
                           [](const GpuNow& gpu) { return gpu.is_simulated; });
    });
}

std::optional<Cause> main_cause(const GpuParts& parts) {
    const auto most = std::max_element(parts.idle.ns.begin(), parts.idle.ns.end());
    if (*most <= 0) return {};
    return static_cast<Cause>(most - parts.idle.ns.begin());
}

std::optional<GpuParts> parts_of(const RankNow& rank) {
    std::optional<GpuParts> sum;
    for (const GpuNow& gpu : rank.gpus) {
        if (!gpu.parts) continue;
        if (!sum) sum = GpuParts();
        *sum += *gpu.parts;
    }
    return sum;
}

std::optional<size_t> slowest_of(const std::vector<RankNow>& ranks) {
    std::optional<size_t> least;
    double least_share = 0, next_share = 2;
    for (size_t i = 0; i < ranks.size(); ++i) {
        const auto parts = parts_of(ranks[i]);
        if (!parts || !parts->is_wait_known) continue;
        const double share = parts->share(parts->peer_wait_ns);
        if (!least || share < least_share) {
            if (least) next_share = least_share;
            least = i;
            least_share = share;
        } else {
            next_share = std::min(next_share, share);
        }
    }
    return next_share < 2 && next_share - least_share >= kNoAccident ? least : std::nullopt;
}

const char* name_of(RankState state) {
    switch (state) {
        case RankState::running:
            return "running";
        case RankState::quiet:
            return "quiet";
        case RankState::silent:
            return "silent";
        case RankState::ended:
            return "ended";
        case RankState::died:
            return "died";
        case RankState::unreadable:
            return "unreadable";
    }
    return "";
}

}  // namespace gpushim::analysis
