#include "gpu_label.h"

namespace gpushim::analysis {

std::map<int64_t, GpuLabel> gpu_labels(const Database& run) {
    std::map<int64_t, GpuLabel> labels;
    std::map<int64_t, std::string> hosts;
    std::map<std::string, int> times;
    Query query = run.prepare(
        "SELECT g.gpu_id, r.rank, r.pid, g.device_id, r.rank_id,"
        " (SELECT count(*) FROM gpu o WHERE o.rank_id = g.rank_id), r.host"
        " FROM gpu g LEFT JOIN rank r ON r.rank_id = g.rank_id");
    while (query.step()) {
        std::string text = query.is_null(1) ? "process " + query.text(2) : "rank " + query.text(1);
        if (query.number(5) > 1) text += " GPU " + query.text(3);
        ++times[text];
        hosts[query.number(0)] = query.text(6);
        labels[query.number(0)] = {query.maybe(1), std::move(text), query.number(4)};
    }
    // Processes of two containers or hosts may have one number.
    for (auto& [gpu_id, label] : labels)
        if (times[label.text] > 1 && !hosts[gpu_id].empty()) label.text = hosts[gpu_id] + " " + label.text;
    return labels;
}

}  // namespace gpushim::analysis
