#include "comm_bandwidth.h"

#include <algorithm>
#include <map>

namespace gpushim::analysis {

namespace {

struct Hosts {
    int64_t count = 0, ranks_of_each = 0;  // 0: not as many on each
};

std::optional<Hosts> hosts_of(const RunCommunicator& comm, const RunClocks& clocks) {
    std::map<int, int64_t> ranks;
    for (const int clock : comm.clock_of_rank) {
        if (clock < 0 || !clocks.is_named(clock)) return {};
        ++ranks[clock];
    }
    if (ranks.empty()) return {};
    const int64_t first = ranks.begin()->second;
    const bool even =
        std::all_of(ranks.begin(), ranks.end(), [&](const auto& host) { return host.second == first; });
    return Hosts{static_cast<int64_t>(ranks.size()), even ? first : 0};
}

std::optional<double> gb_per_s(const std::optional<double>& bytes_per_s) {
    return bytes_per_s ? std::optional(*bytes_per_s / 1e9) : std::nullopt;
}

class Bandwidths {
  public:
    Bandwidths(const CollectiveRun& all, std::span<const std::optional<double>> measured)
        : options_(all.traces.front()->options) {
        for (size_t i = 0; i < all.communicators.size(); ++i) {
            const RunCommunicator& comm = all.communicators[i];
            hosts_.push_back(hosts_of(comm, all.clocks));
            if (!measured[i] || !hosts_[i] || comm.ranks < 2) continue;
            if (hosts_[i]->count == 1) within_ = std::max(within_.value_or(0), *measured[i]);
            if (hosts_[i]->count == comm.ranks) between_.push_back(*measured[i]);
        }
    }

    CommBandwidth of(size_t i, const CommLink& link, std::optional<double> measured) const {
        const auto given = gb_per_s(options_.bandwidth_bytes_per_s);
        CommBandwidth result = {choose_bandwidth(given, measured, gb_per_s(link.bytes_per_s)), {}, {}, ""};
        if (!hosts_[i]) return result;
        const Hosts& hosts = *hosts_[i];
        result.hosts = hosts.count;
        if (hosts.count < 2) return result;
        if (hosts.ranks_of_each == 1) {
            result.own = choose_bandwidth(given_between() ? given_between() : given, measured, {});
        } else if (hosts.ranks_of_each == 0) {
            result.why = "its hosts do not have the same number of ranks";
        } else {
            find_levels(hosts, choose_bandwidth(given, within_, gb_per_s(link.within_bytes_per_s)), result);
        }
        return result;
    }

  private:
    std::optional<double> given_between() const { return gb_per_s(options_.between_bytes_per_s); }

    void find_levels(const Hosts& hosts, std::optional<Bandwidth> within, CommBandwidth& result) const {
        const auto between = choose_bandwidth(given_between(), measured_between(hosts), {});
        const std::string on = "on " + std::to_string(hosts.count) + " hosts; the bandwidth ";
        if (!between) result.why = on + "between them is not known: give --bandwidth-between";
        if (between && !within) result.why = on + "within one is not known: give --bandwidth";
        if (between && within) result.levels = HostLevels{*within, *between};
    }

    // The ranks of a host have as many such communicators beside each other, each over a link of its own.
    std::optional<double> measured_between(const Hosts& hosts) const {
        if (between_.empty()) return {};
        const auto links = std::min<int64_t>(static_cast<int64_t>(between_.size()), hosts.ranks_of_each);
        return *std::max_element(between_.begin(), between_.end()) * static_cast<double>(links);
    }

    const RunOptions& options_;
    std::vector<std::optional<Hosts>> hosts_;  // by communicator
    std::optional<double> within_;             // the best that a communicator reached that lies on one host
    std::vector<double> between_;              // what those reached that have one rank on each host
};

}  // namespace

std::vector<CommBandwidth> comm_bandwidths(const CollectiveRun& all, std::span<const CommLink> links,
                                           std::span<const std::optional<double>> measured) {
    std::vector<CommBandwidth> result;
    if (all.communicators.empty()) return result;
    const Bandwidths bandwidths(all, measured);
    for (size_t i = 0; i < all.communicators.size(); ++i)
        result.push_back(bandwidths.of(i, links[i], measured[i]));
    return result;
}

}  // namespace gpushim::analysis
