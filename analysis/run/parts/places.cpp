#include "places.h"

namespace gpushim::analysis {

Places::Places(const TraceFacts& facts) {
    if (facts.gpus.size() == 1) only_gpu_ = 0;
    for (size_t i = 0; i < facts.gpus.size(); ++i)
        by_device_[facts.gpus[i].device_id] = static_cast<int32_t>(i);
    const auto add = [&](int64_t stream_id, int32_t gpu, std::string stream) {
        const bool known = gpu >= 0;
        all_.push_back({known ? facts.gpus[static_cast<size_t>(gpu)].gpu_id : kNotTold, stream_id,
                        known ? gpu : -1, std::move(stream)});
    };
    for (size_t i = 0; i < facts.lanes.size(); ++i) {
        const int32_t gpu = i < facts.gpu_of_lane.size() ? facts.gpu_of_lane[i] : -1;
        by_stream_[facts.lanes[i].stream_id] = i;
        add(facts.lanes[i].stream_id, gpu, i < facts.streams.size() ? facts.streams[i] : "");
    }
    for (const Place& place : all_) gpu_of_lane_.push_back(place.gpu);
    not_told_ = all_.size();
    add(kNotTold, only_gpu_, "");
}

size_t Places::of_stream(std::optional<int64_t> stream_id) const {
    const auto found = stream_id ? by_stream_.find(*stream_id) : by_stream_.end();
    return found == by_stream_.end() ? not_told_ : found->second;
}

int32_t Places::gpu_of_device(std::optional<int64_t> device_id) const {
    const auto found = device_id ? by_device_.find(*device_id) : by_device_.end();
    return found == by_device_.end() ? only_gpu_ : found->second;
}

bool has_totals(const Trace& trace) {
    if (trace.base.is_of_first_schema() || !trace.base.has("rollup")) return false;
    Query query = trace.base.prepare("SELECT 1 FROM rollup LIMIT 1");
    return query.step();
}

}  // namespace gpushim::analysis
