// What NCCL itself told of its operations, where we were its profiler plug-in: for each communicator and peer
// what its service thread waited for, and which channel is the slowest. Of the traces, as far as their rows
// are there.
#include <algorithm>

#include "../text/escape.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_nccl {

namespace {

constexpr size_t kIndent = 11, kMostRows = 6, kMostLines = 4;
// A channel that is so much slower than the middle one is named.
constexpr double kNotablySlow = 1.05;

struct Plugin {
    std::string label;
    std::optional<int64_t> rank, interface;
    std::optional<std::string> refused;
    int64_t left_out, lost;
    bool has_nccl;  // the program made a communicator
};

// What goes to, or comes from, one peer.
struct Peer {
    std::string label, direction;
    std::optional<int64_t> rank, comm_rank, peer, steps, bytes;
    std::optional<std::string> comm;
    int64_t operations, channels, busy_ns, gpu_wait_ns, network_wait_ns;
    std::optional<int64_t> peer_wait_ns;
    int64_t interface;

    std::optional<double> share(std::optional<int64_t> wait_ns) const {
        const int64_t all_ns = gpu_wait_ns + peer_wait_ns.value_or(0) + network_wait_ns;
        if (!wait_ns) return std::nullopt;
        return share_of(static_cast<double>(*wait_ns), static_cast<double>(all_ns));
    }
    // Of one channel: the others send at the same time.
    std::optional<double> bytes_per_s() const {
        if (!bytes || busy_ns <= 0) return std::nullopt;
        return static_cast<double>(*bytes) * 1e9 / static_cast<double>(busy_ns);
    }
};

struct Channel {
    std::string label;
    std::optional<int64_t> rank, comm_rank;
    std::optional<std::string> comm;
    int64_t communicator, channel, operations;
    double mean_ns;
    bool by_gpu;  // else when the service thread noticed
};

// A communicator of NCCL's with the program's, where the two were found to be the same.
constexpr const char* kCommunicators =
    "WITH known AS (SELECT nccl_communicator_id AS id, max(communicator_id) AS ours FROM nccl_operation"
    " WHERE communicator_id IS NOT NULL GROUP BY 1),"
    " named AS (SELECT n.id, n.interface, c.uid, coalesce(n.rank, c.rank) AS rank FROM nccl_communicator n"
    " LEFT JOIN known k ON k.id = n.id LEFT JOIN communicator c ON c.id = k.ours) ";

std::optional<std::string> maybe_text(const Query& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(row.text(column));
}

std::optional<Plugin> plugin_of(const Trace& trace) {
    Query row = trace.base.prepare(
        "SELECT interface, refused, left_out, lost, EXISTS (SELECT 1 FROM communicator) FROM nccl_source"
        " ORDER BY mono_ns DESC LIMIT 1");
    if (!row.step()) return std::nullopt;
    return Plugin{trace.label(), trace.rank,    row.maybe(0),      maybe_text(row, 1),
                  row.number(2), row.number(3), row.number(4) != 0};
}

void add_peers(const Trace& trace, std::vector<Peer>& all) {
    Query row = trace.base.prepare(
        std::string(kCommunicators) +
        "SELECT n.sends, m.rank, n.peer, sum(n.steps), sum(n.bytes), m.uid, count(*),"
        " count(DISTINCT n.channel), sum(n.dur_ns), sum(n.gpu_wait_ns), sum(n.network_wait_ns),"
        " sum(n.peer_wait_ns), coalesce(m.interface, 0), count(n.bytes), count(n.steps) FROM nccl_network n"
        " LEFT JOIN named m ON m.id = n.nccl_communicator_id"
        " GROUP BY n.nccl_communicator_id, n.peer, n.sends ORDER BY sum(n.dur_ns) DESC");
    while (row.step()) {
        const bool all_sizes = row.number(13) == row.number(6), all_steps = row.number(14) == row.number(6);
        all.push_back({trace.label(), row.number(0) != 0 ? "send" : "receive", trace.rank, row.maybe(1),
                       row.maybe(2), all_steps ? row.maybe(3) : std::nullopt,
                       all_sizes ? row.maybe(4) : std::nullopt, maybe_text(row, 5), row.number(6),
                       row.number(7), row.number(8), row.number(9), row.number(10), row.maybe(11),
                       row.number(12)});
    }
}

// By the GPU's timer where NCCL tells it for all.
void add_channels(const Trace& trace, std::vector<Channel>& all) {
    Query row = trace.base.prepare(
        std::string(kCommunicators) +
        "SELECT m.rank, m.uid, coalesce(n.nccl_communicator_id, 0), n.channel, count(*), avg(n.gpu_ns),"
        " avg(n.dur_ns), count(n.gpu_ns) FROM nccl_channel n"
        " LEFT JOIN named m ON m.id = n.nccl_communicator_id"
        " GROUP BY n.nccl_communicator_id, n.channel ORDER BY n.nccl_communicator_id, n.channel");
    while (row.step()) {
        const bool by_gpu = row.number(7) == row.number(4);
        all.push_back({trace.label(), trace.rank, row.maybe(0), maybe_text(row, 1), row.number(2),
                       row.number(3), row.number(4), row.real(by_gpu ? 5 : 6), by_gpu});
    }
}

// --- for programs -----------------------------------------------------------------------------------------

Json json_of(const Plugin& one) {
    return Facts()
        .maybe("rank", one.rank, "not recorded")
        .maybe("interface", one.interface, one.refused ? *one.refused : "NCCL has not asked for a plug-in")
        .maybe("refused", one.refused, one.interface ? "it was not" : "NCCL has not asked for a plug-in")
        .known("left_out", one.left_out)
        .known("lost", one.lost)
        .json();
}

Json json_of(const Peer& one) {
    const char* const no_comm = "not known: which of the program's communicators this is";
    const char* const no_waits = "it did not wait";
    return Facts()
        .maybe("rank", one.rank, "not recorded")
        .maybe("comm", one.comm, no_comm)
        .maybe("comm_rank", one.comm_rank, no_comm)
        .maybe("peer", one.peer, "not recorded")
        .known("direction", one.direction)
        .known("operations", one.operations)
        .known("channels", one.channels)
        .known("busy_ns", one.busy_ns)
        .maybe("steps", one.steps, "too many in one operation")
        .maybe("bytes", one.bytes, "too many in one operation")
        .maybe("bytes_per_s", one.bytes_per_s(), "not recorded: how many bytes, or how long it took")
        .maybe("gpu_wait_share", one.share(one.gpu_wait_ns), no_waits)
        .maybe("peer_wait_share", one.share(one.peer_wait_ns),
               one.direction == "receive" ? "what receives waits for no room at its peer"
               : one.interface < 4        ? "this NCCL tells it together with the wait for the GPU"
                                          : no_waits)
        .maybe("network_wait_share", one.share(one.network_wait_ns), no_waits)
        .json();
}

Json json_of(const Channel& one) {
    const char* const no_comm = "not known: which of the program's communicators this is";
    return Facts()
        .maybe("rank", one.rank, "not recorded")
        .maybe("comm", one.comm, no_comm)
        .maybe("comm_rank", one.comm_rank, no_comm)
        .known("channel", one.channel)
        .known("operations", one.operations)
        .known("mean_ns", one.mean_ns)
        .known("by", one.by_gpu ? "gpu" : "host")
        .json();
}

template <class T>
Json list_of(const std::vector<T>& all) {
    Json list = Json::array();
    for (const T& one : all) list.push(json_of(one));
    return list;
}

// --- for people -------------------------------------------------------------------------------------------

std::string share_cell(std::optional<double> share) { return share ? percent_text(*share) : "-"; }

std::string who(const std::string& label, const std::optional<std::string>& comm) {
    return label + (comm ? ", communicator " + for_terminal(*comm) : "");
}

void write_peers(const std::vector<Peer>& peers, Report& report) {
    if (peers.empty()) return;
    std::vector<std::vector<std::string>> table = {
        {"NETWORK", "peer", "way", "operations", "bytes", "a channel", "waits: GPU", "peer", "network"}};
    for (const Peer& one : peers)
        table.push_back(
            {who(one.label, one.comm), one.peer ? count_text(*one.peer) : "-", one.direction,
             count_text(one.operations), one.bytes ? bytes_text(static_cast<double>(*one.bytes)) : "-",
             one.bytes_per_s() ? rate_text(*one.bytes_per_s()) : "-", share_cell(one.share(one.gpu_wait_ns)),
             share_cell(one.share(one.peer_wait_ns)), share_cell(one.share(one.network_wait_ns))});
    report.table("lrlrrrrrr", std::move(table), kMostRows);
}

// `from` to `until`: of one communicator.
void write_slowest(std::vector<Channel>::const_iterator from, std::vector<Channel>::const_iterator until,
                   Report& report) {
    std::vector<Channel> by_time(from, until);
    std::ranges::stable_sort(by_time, {}, &Channel::mean_ns);
    const Channel& slowest = by_time.back();
    const double middle_ns = by_time[(by_time.size() - 1) / 2].mean_ns;
    if (slowest.mean_ns < kNotablySlow * middle_ns) return;
    report.paragraph(
        "CHANNELS   " + who(slowest.label, slowest.comm) + ": channel " + count_text(slowest.channel) +
            " of " + count_text(static_cast<int64_t>(by_time.size())) + " is the slowest, " +
            duration_text(slowest.mean_ns) + " an operation; the one in the middle takes " +
            duration_text(middle_ns) + (slowest.by_gpu ? "" : " (as NCCL's service thread noticed it)"),
        kIndent);
}

void write_channels(const std::vector<Channel>& channels, Report& report) {
    size_t communicators = 0;
    for (auto from = channels.begin(); from != channels.end();) {
        const auto until = std::find_if(from, channels.end(), [&](const Channel& one) {
            return one.label != from->label || one.communicator != from->communicator;
        });
        if (++communicators <= kMostLines) write_slowest(from, until, report);
        from = until;
    }
}

// What keeps the figures above from being whole, once for all ranks of which the same is true.
void write_plugins(const std::vector<Plugin>& plugins, Report& report) {
    int64_t missing = 0;
    for (const Plugin& one : plugins) missing += one.left_out + one.lost;
    if (missing > 0)
        report.paragraph("NCCL       " + count_text(missing) +
                             " of the events that it told had no place: the figures of NETWORK and CHANNELS "
                             "are of the others",
                         kIndent);
    const auto none =
        std::ranges::find_if(plugins, [](const Plugin& one) { return one.has_nccl && !one.interface; });
    if (none == plugins.end()) return;
    report.paragraph("NCCL       " + none->label + ": what it says of its work is not recorded, for " +
                         (none->refused ? *none->refused : "it has not asked for a plug-in"),
                     kIndent);
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    std::vector<Plugin> plugins;
    std::vector<Peer> peers;
    std::vector<Channel> channels;
    for (const Trace& trace : source.traces->traces) {
        if (!trace.base.has("nccl_source")) continue;  // a trace of before there was one
        const auto plugin = plugin_of(trace);
        if (!plugin) continue;
        plugins.push_back(*plugin);
        add_peers(trace, peers);
        add_channels(trace, channels);
    }
    std::ranges::stable_sort(peers, std::greater(), &Peer::busy_ns);
    write_peers(peers, report);
    write_channels(channels, report);
    write_plugins(plugins, report);
    Json json = Json::object();
    json.set("plugins", list_of(plugins));
    json.set("network", list_of(peers));
    json.set("channels", list_of(channels));
    report.json.set("nccl", std::move(json));
}

constexpr Section kSection = {"nccl", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_nccl
