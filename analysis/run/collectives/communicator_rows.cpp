// Communicators: which ranks they have, and what their GPUs are connected by.
//
//   0 ══ 1      NVLink between 0 and 1, 2 and 3; PCIe between the pairs. A communicator of 0 and 2 is slow:
//   │    │      two other GPUs of this box are joined better. One of all four is not: there is no better
//   choice. 2 ══ 3
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "../sql/run_db.h"
#include "collective_run.h"

namespace gpushim::analysis {

namespace {

struct Pair {
    std::string link;
    std::optional<int64_t> bytes_per_s;
};

using Uuids = std::pair<std::string, std::string>;  // smaller first

struct Box {
    std::map<Uuids, Pair> pairs;
    std::map<std::string, int64_t> to_host;  // bytes per second of PCIe
    std::set<std::string> uuids;             // of those that have a pair

    const Pair* between(const std::string& a, const std::string& b) const {
        const auto found = pairs.find(std::minmax(a, b));
        return found == pairs.end() ? nullptr : &found->second;
    }
    // What is not joined directly goes over the bus.
    std::optional<double> rate(const std::string& a, const std::string& b) const {
        const Pair* pair = between(a, b);
        if (pair == nullptr) return {};
        if (pair->bytes_per_s) return static_cast<double>(*pair->bytes_per_s);
        const auto one = to_host.find(a), other = to_host.find(b);
        if (one == to_host.end() || other == to_host.end()) return {};
        return static_cast<double>(std::min(one->second, other->second));
    }
};

// GPUs have the same uuids in all processes, so what each of them saw is put together.
Box read_box(const CollectiveRun& all) {
    Box box;
    for (const TraceFacts* facts : all.traces) {
        if (!facts->trace->base.has("topology")) continue;
        Query query = facts->trace->base.prepare(
            "SELECT d.uuid, p.uuid, t.link, t.bytes_per_s FROM topology t JOIN device d ON d.id = t.device_id"
            " LEFT JOIN device p ON p.id = t.peer_id WHERE t.peer_id IS NULL OR p.uuid IS NOT NULL");
        while (query.step()) {
            const std::string one = query.text(0), other = query.text(1), link = query.text(2);
            if (other.empty() && link.starts_with("pcie") && !query.is_null(3))
                box.to_host[one] = query.number(3);
            if (other.empty() || one == other) continue;
            Pair& pair = box.pairs[std::minmax(one, other)];
            // There may be several ways: the quickest is taken.
            if (pair.link.empty() || query.maybe(3).value_or(0) > pair.bytes_per_s.value_or(0))
                pair = {link, query.maybe(3)};
            box.uuids.insert({one, other});
        }
    }
    return box;
}

std::vector<std::string> uuids_of(const RunCommunicator& comm) {
    std::set<std::string> uuids;
    for (const CommSeat& seat : comm.seats)
        if (const Gpu* gpu = seat.gpu()) uuids.insert(gpu->uuid);
    return {uuids.begin(), uuids.end()};
}

// As many GPUs as well joined as they can be chosen: some GPU has so many neighbours that near. None: there
// are not so many whose links are known.
std::optional<double> best_rate(const Box& box, size_t gpus) {
    std::optional<double> best;
    for (const std::string& one : box.uuids) {
        std::vector<double> rates;
        for (const std::string& other : box.uuids)
            if (const auto rate = box.rate(one, other); rate && one != other) rates.push_back(*rate);
        if (gpus < 2 || rates.size() < gpus - 1) continue;
        std::sort(rates.begin(), rates.end(), std::greater());
        best = std::max(best.value_or(0), rates[gpus - 2]);
    }
    return best;
}

CommLink link_of(const RunCommunicator& comm, const Box& box) {
    CommLink link;
    const std::vector<std::string> uuids = uuids_of(comm);
    if (!comm.all_seen() || uuids.size() != static_cast<size_t>(comm.ranks) || comm.ranks < 2) return link;
    std::optional<double> weakest;
    for (size_t i = 0; i < uuids.size(); ++i)
        for (size_t j = i + 1; j < uuids.size(); ++j) {
            const auto rate = box.rate(uuids[i], uuids[j]);
            if (!rate) return {};
            if (weakest && *weakest <= *rate) continue;
            weakest = rate;
            link.link = box.between(uuids[i], uuids[j])->link;
        }
    link.bytes_per_s = weakest;
    link.best_bytes_per_s = best_rate(box, uuids.size());
    link.is_slow = link.best_bytes_per_s.value_or(0) > *weakest;
    return link;
}

std::optional<double> within_hosts(const RunCommunicator& comm, const Box& box) {
    std::optional<double> weakest;
    for (const CommSeat& one : comm.seats)
        for (const CommSeat& other : comm.seats) {
            const auto host = [&](const CommSeat& seat) {
                return comm.clock_of_rank[static_cast<size_t>(seat.rank)];
            };
            if (one.rank >= other.rank || host(one) != host(other)) continue;
            const Gpu *gpu = one.gpu(), *peer = other.gpu();
            if (gpu == nullptr || peer == nullptr || gpu->uuid == peer->uuid) return {};
            const auto rate = box.rate(gpu->uuid, peer->uuid);
            if (!rate) return {};
            weakest = std::min(weakest.value_or(*rate), *rate);
        }
    return weakest;
}

}  // namespace

std::vector<CommLink> communicator_links(const CollectiveRun& all) {
    const Box box = read_box(all);
    std::vector<CommLink> links;
    for (const RunCommunicator& comm : all.communicators) {
        links.push_back(link_of(comm, box));
        links.back().within_bytes_per_s = within_hosts(comm, box);
    }
    return links;
}

void write_communicators(const CollectiveRun& all, std::span<const CommLink> links, RunDb& run) {
    for (size_t i = 0; i < all.communicators.size(); ++i) {
        const RunCommunicator& comm = all.communicators[i];
        const CommLink& link = links[i];
        if (!comm.is_known()) continue;
        run.add("communicator", {comm.uid, int64_t{comm.ranks}, static_cast<int64_t>(comm.seats.size()),
                                 comm.parent.empty() ? Value(nullptr) : Value(comm.parent),
                                 link.link ? Value(*link.link) : Value(nullptr),
                                 link.is_slow ? Value(int64_t{*link.is_slow}) : Value(nullptr),
                                 maybe(link.bytes_per_s), maybe(link.best_bytes_per_s)});
    }
}

}  // namespace gpushim::analysis
