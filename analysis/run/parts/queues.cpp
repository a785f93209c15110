#include "queues.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRecorded = 65'536;  // forgotten beyond that: waits for older ones are not seen

}  // namespace

Queues::Queues(const TraceFacts& facts)
    : facts_(facts), streams_(facts.lanes.size()), gpus_(facts.gpus.size()) {
    std::unordered_map<int64_t, uint32_t> index;
    for (const Lane& lane : facts.lanes)
        context_of_lane_.push_back(
            index.try_emplace(lane.context_id, static_cast<uint32_t>(index.size())).first->second);
    contexts_.resize(index.size());
}

void Queues::clear() {
    std::fill(streams_.begin(), streams_.end(), Stream{});
    std::fill(gpus_.begin(), gpus_.end(), Gpu{});
    std::fill(contexts_.begin(), contexts_.end(), Context{});
    recorded_.clear();
}

void Queues::advance(Gpu& gpu, int64_t t_ns) {
    for (size_t i = 0; i < gpu.active.size();) {
        Stream& stream = streams_[static_cast<size_t>(gpu.active[i])];
        for (; stream.started < stream.items.size(); ++stream.started) {
            const Item& item = stream.items[stream.started];
            if (item.start_ns > t_ns) break;
            --gpu.pending;
            gpu.runway_ns -= item.end_ns - item.start_ns;
        }
        for (; stream.started > 0 && stream.items.front().end_ns <= t_ns; --stream.started) {
            stream.items.pop_front();
            --gpu.outstanding;
        }
        if (stream.items.empty()) {
            gpu.active[i] = gpu.active.back();
            gpu.active.pop_back();
        } else {
            ++i;
        }
    }
}

int64_t Queues::free_ns(int32_t lane) const {
    const Lane& facts = facts_.lanes[static_cast<size_t>(lane)];
    const Context& context = contexts_[context_of_lane_[static_cast<size_t>(lane)]];
    const int64_t own_ns = streams_[static_cast<size_t>(lane)].end_ns;
    if (facts.legacy) return std::max(own_ns, context.joined_end_ns);
    return facts.joins_legacy ? std::max(own_ns, context.legacy_end_ns) : own_ns;
}

QueueState Queues::at(int32_t lane, int64_t t_ns) {
    if (lane < 0 || gpu_of(lane) < 0) return {};
    Gpu& gpu = gpus_[static_cast<size_t>(gpu_of(lane))];
    advance(gpu, t_ns);
    const Stream& stream = streams_[static_cast<size_t>(lane)];
    const int64_t free = free_ns(lane);
    return {gpu.unknown_streams == 0,
            !stream.unknown,
            gpu.outstanding,
            gpu.pending,
            gpu.runway_ns,
            gpu.end_ns,
            free,
            std::max(free, stream.wait_ns)};
}

void Queues::set_unknown(Stream& stream, Gpu& gpu, bool unknown) {
    gpu.unknown_streams += int{unknown} - int{stream.unknown};
    stream.unknown = unknown;
}

void Queues::add(const Call& call) {
    if (call.lane < 0 || gpu_of(call.lane) < 0) return;
    if (call.kind == CallKind::operation) return add_operation(call);
    Stream& stream = streams_[static_cast<size_t>(call.lane)];
    if (call.kind == CallKind::record) {
        if (recorded_.size() >= kMostRecorded) recorded_.clear();
        recorded_[call.target_id] = std::max(free_ns(call.lane), stream.wait_ns);
    } else if (call.kind == CallKind::wait) {
        const auto found = recorded_.find(call.target_id);
        if (found != recorded_.end()) stream.wait_ns = std::max(stream.wait_ns, found->second);
    }
}

void Queues::add_operation(const Call& call) {
    Stream& stream = streams_[static_cast<size_t>(call.lane)];
    Gpu& gpu = gpus_[static_cast<size_t>(gpu_of(call.lane))];
    set_unknown(stream, gpu, !call.timed && !call.completes);
    if (!call.timed) return;
    const int64_t start_ns = call.times.start_ns, end_ns = std::max(start_ns, call.times.end_ns);
    if (stream.items.empty()) gpu.active.push_back(call.lane);
    stream.items.push_back({start_ns, end_ns});
    ++gpu.outstanding;
    ++gpu.pending;
    gpu.runway_ns += end_ns - start_ns;
    stream.end_ns = std::max(stream.end_ns, end_ns);
    gpu.end_ns = std::max(gpu.end_ns, end_ns);
    Context& context = contexts_[context_of_lane_[static_cast<size_t>(call.lane)]];
    const Lane& lane = facts_.lanes[static_cast<size_t>(call.lane)];
    if (lane.legacy) context.legacy_end_ns = std::max(context.legacy_end_ns, end_ns);
    if (lane.joins_legacy) context.joined_end_ns = std::max(context.joined_end_ns, end_ns);
}

}  // namespace gpushim::analysis
