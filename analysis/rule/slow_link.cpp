// Ranks that talk over a slow link although the hosts have a better one: GPUs chosen badly, or a good link
// that NCCL does not use.
#include <algorithm>

#include "../text/units.h"
#include "excess.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kBandwidthBound = 32 << 20;  // messages from here on reach what the link carries
constexpr double kUnused = 0.4;                // of a link's rate: below, it is not that link which is used

struct Link {
    int64_t rowid = 0;
    std::string comm, word;
    int64_t ranks = 0;
    double bytes_per_s = 0, best_bytes_per_s = 0;
};

std::vector<Link> links_of(const Situation& run) {
    std::vector<Link> links;
    Query row = run.ask(
        "SELECT rowid, comm, link, ranks, link_bytes_per_s, coalesce(best_bytes_per_s, link_bytes_per_s)"
        " FROM communicator WHERE link IS NOT NULL AND link_bytes_per_s > 0");
    while (row.step())
        links.push_back({row.number(0), row.text(1), row.text(2), row.number(3), row.real(4), row.real(5)});
    return links;
}

// What its large messages reached, in the bytes that a link carries.
struct BestOfLink {
    double ns = 0,
           bytes_per_s = 0;  // of a step, of all its messages; the best of large ones, 0: there are none
    std::vector<const CollectiveKind*> kinds;
};
BestOfLink reached_by(const Traffic& traffic, const std::string& comm) {
    BestOfLink reached;
    for (const CollectiveKind& kind : traffic.kinds) {
        if (kind.comm != comm) continue;
        reached.ns += kind.ns();
        reached.kinds.push_back(&kind);
        const auto op = operation_named(kind.op);
        if (kind.bytes < kBandwidthBound || !op || kind.each_ns <= 0) continue;
        const double bytes = bus_factor(*op, kind.ranks) * static_cast<double>(kind.bytes);
        reached.bytes_per_s = std::max(reached.bytes_per_s, bytes * 1e9 / kind.each_ns);
    }
    return reached;
}

std::string switched_off(const Situation& run) {
    Query row = run.ask(
        "SELECT name || '=' || value FROM environment WHERE name IN ('NCCL_P2P_DISABLE', 'NCCL_P2P_LEVEL',"
        " 'NCCL_SHM_DISABLE', 'NCCL_NVLS_ENABLE') AND value <> '' ORDER BY name LIMIT 1");
    return row.step() ? row.text(0) : "";
}

enum class Why { kBadlyChosen, kNotUsed };

struct SlowLink {
    Why why;
    Link link;
    BestOfLink reached;
    double share;  // of all transfers that goes at the better rate
};

// Of several communicators the one that could gain most.
std::optional<SlowLink> slowest(const Situation& run, const Traffic& traffic) {
    std::optional<SlowLink> most;
    for (const Link& link : links_of(run)) {
        const BestOfLink reached = reached_by(traffic, link.comm);
        double faster = 1;
        Why why = Why::kBadlyChosen;
        if (link.best_bytes_per_s > link.bytes_per_s) {
            faster = link.best_bytes_per_s / link.bytes_per_s;
        } else if (reached.bytes_per_s > 0 && reached.bytes_per_s < kUnused * link.bytes_per_s) {
            faster = kReachedInPractice * link.bytes_per_s / reached.bytes_per_s;
            why = Why::kNotUsed;
        }
        if (reached.ns <= 0 || faster <= 1) continue;
        const double share = (1 - 1 / faster) * reached.ns / traffic.ns();
        if (!most || share > most->share) most = SlowLink{why, link, reached, share};
    }
    return most;
}

void tell_badly_chosen(const Situation& run, const SlowLink& slow, Finding& found) {
    found.title = count_text(slow.link.ranks) + " GPUs are joined by " + slow.link.word + " (" +
                  rate_text(slow.link.bytes_per_s) + "); as many GPUs of these hosts could be joined at " +
                  rate_text(slow.link.best_bytes_per_s);
    found.try_it = run.advice({"slow_link.other_gpus"});
    found.confidence = 0.8;
}

void tell_not_used(const Situation& run, const SlowLink& slow, Finding& found) {
    const std::string off = switched_off(run);
    found.title = "the GPUs are joined by " + slow.link.word + " (" + rate_text(slow.link.bytes_per_s) +
                  "), and large messages reach " + rate_text(slow.reached.bytes_per_s) +
                  (off.empty() ? "" : "; " + off + " is set");
    if (!off.empty()) found.try_it = "Unset " + off.substr(0, off.find('=')) + ". ";
    found.try_it += run.advice({"slow_link"});
    found.confidence = off.empty() ? 0.5 : 0.8;
}

}  // namespace

double slow_link_share(const Situation& run, const Traffic& traffic) {
    const auto slow = slowest(run, traffic);
    return slow ? slow->share : 0;
}

namespace rule_slow_link {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Traffic traffic(run);
    const auto slow = slowest(run, traffic);
    if (!slow) return {};
    Finding found;
    if (slow->why == Why::kBadlyChosen)
        tell_badly_chosen(run, *slow, found);
    else
        tell_not_used(run, *slow, found);
    // Messages that reach less than the link are held back by something else, too; and whether a link that is
    // not used can be used is not known.
    const double decides = slow->why == Why::kNotUsed
                               ? 0
                               : std::clamp(slow->reached.bytes_per_s / slow->link.bytes_per_s, 0.0, 1.0);
    found.gain = without_transfers(run, decides * slow->share, slow->share);
    found.evidence = traffic.evidence(slow->reached.kinds);
    found.evidence.insert(found.evidence.begin(), {"communicator", slow->link.rowid});
    return found;
}

constexpr Heading kHeading = {"communication-bound", "A slow link between GPUs",
                              "transfers wait for a slow link", "GPUs with better links"};
const RuleRegistration kRegistration({"slow_link", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace rule_slow_link

}  // namespace gpushim::analysis
