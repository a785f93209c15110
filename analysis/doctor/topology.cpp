#include "topology.h"

#include "../process/library.h"
#include "../report/printed.h"
#include "../text/escape.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kIsName = -2;  // what the library gives as the number of links where it tells a name

std::optional<int64_t> known(int64_t number) { return number < 0 ? std::nullopt : std::optional(number); }

void take(void* to, int device, int peer, const char* how, int64_t links, int64_t bytes_per_s) {
    Topology& topology = *static_cast<Topology*>(to);
    if (links == kIsName) return topology.names.emplace_back(how), void();
    topology.links.push_back({device, known(peer), how, known(links), known(bytes_per_s)});
}

// "18 x nvlink 4.0 (478.1 GB/s)"
std::string text_of(const TopologyLink& link) {
    std::string text = link.links ? std::to_string(*link.links) + " x " + link.how : link.how;
    if (link.bytes_per_s) text += " (" + rate_text(static_cast<double>(*link.bytes_per_s)) + ")";
    return text;
}

std::string all_of(const Topology& topology, int device, std::optional<int64_t> peer) {
    std::string text;
    for (const TopologyLink& link : topology.links)
        if (link.device == device && link.peer == peer) text += (text.empty() ? "" : ", ") + text_of(link);
    return text.empty() ? "not known" : text;
}

}  // namespace

Topology look_at_topology() {
    using Take = void(void*, int, int, const char*, int64_t, int64_t);
    Topology topology;
    const auto tell = library_function<int(Take*, void*)>("gpushim_topology", topology.why);
    if (tell == nullptr) return topology;
    if (tell(take, &topology) < 0) topology.why = "libnvidia-ml.so.1 is missing or does not start";
    return topology;
}

std::vector<std::string> lines_of(const Topology& topology) {
    if (!topology.why.empty()) return {"devices: not known (" + topology.why + ")"};
    const int devices = static_cast<int>(topology.names.size());
    Report report;
    std::vector<std::vector<std::string>> rows(1, {""});
    for (int i = 0; i < devices; ++i) rows[0].push_back("GPU " + std::to_string(i));
    for (int i = 0; i < devices; ++i) {
        rows.push_back({"GPU " + std::to_string(i)});
        for (int j = 0; j < devices; ++j)
            rows.back().push_back(i == j ? "-" : all_of(topology, i, int64_t{j}));
    }
    const std::string alignment(rows[0].size(), 'l');
    report.table(alignment.c_str(), std::move(rows), topology.names.size());
    for (int i = 0; i < devices; ++i)
        report.line("GPU " + std::to_string(i) + "  " + for_terminal(topology.names[static_cast<size_t>(i)]) +
                    "; to the host: " + all_of(topology, i, std::nullopt));
    return as_text(report);
}

Json json_of(const Topology& topology) {
    if (!topology.why.empty()) return Json::object({{"links", nullptr}, {"why", topology.why}});
    Json names = Json::array(), links = Json::array();
    for (const std::string& name : topology.names) names.push(name);
    for (const TopologyLink& link : topology.links)
        links.push(Json::object({{"device", link.device},
                                 {"peer", link.peer},
                                 {"link", link.how},
                                 {"links", link.links},
                                 {"bytes_per_s", link.bytes_per_s}}));
    return Json::object({{"devices", std::move(names)}, {"links", std::move(links)}});
}

}  // namespace gpushim::analysis
