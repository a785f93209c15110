#include "queues.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr size_t kForgottenAtOnce = 64;   // and half of what is kept, so that little is moved
constexpr size_t kMostRecorded = 65'536;  // forgotten beyond that: waits for older ones are not seen

}  // namespace

Queues::Queues(const TraceFacts& facts) : streams_(facts.lanes.size()), gpus_(facts.gpus.size()) {
    std::unordered_map<int64_t, uint32_t> contexts;
    for (size_t i = 0; i < facts.lanes.size(); ++i) {
        const Lane& lane = facts.lanes[i];
        const auto number = static_cast<uint32_t>(contexts.size());
        const uint32_t context = contexts.try_emplace(lane.context_id, number).first->second;
        places_.push_back({facts.gpu_of_lane[i], context, lane.legacy, lane.joins_legacy});
    }
    contexts_.resize(contexts.size());
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
        if (stream.change_ns <= t_ns) {
            advance(stream, gpu, t_ns);
            if (stream.is_over()) {
                gpu.active[i] = gpu.active.back();
                gpu.active.pop_back();
                continue;
            }
        }
        ++i;
    }
}

void Queues::advance(Stream& stream, Gpu& gpu, int64_t t_ns) {
    const std::vector<Item>& items = stream.items;
    stream.change_ns = INT64_MAX;
    for (; stream.started < items.size(); ++stream.started) {
        const Item& item = items[stream.started];
        if (item.start_ns > t_ns) {
            stream.change_ns = item.start_ns;
            break;
        }
        --gpu.pending;
        gpu.runway_ns -= item.end_ns - item.start_ns;
    }
    for (; stream.ended < stream.started && items[stream.ended].end_ns <= t_ns; ++stream.ended)
        --gpu.outstanding;
    if (stream.ended < stream.started)
        stream.change_ns = std::min(stream.change_ns, items[stream.ended].end_ns);
    if (stream.ended >= kForgottenAtOnce && 2 * stream.ended >= items.size()) stream.forget_ended();
}

void Queues::Stream::forget_ended() {
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(ended));
    started -= ended;
    ended = 0;
}

int64_t Queues::free_ns(const Place& place, const Stream& stream) const {
    const Context& context = contexts_[place.context];
    if (place.legacy) return std::max(stream.end_ns, context.joined_end_ns);
    return place.joins_legacy ? std::max(stream.end_ns, context.legacy_end_ns) : stream.end_ns;
}

QueueState Queues::at(int32_t lane, int64_t t_ns) {
    if (lane < 0) return {};
    const Place& place = places_[static_cast<size_t>(lane)];
    if (place.gpu < 0) return {};
    Gpu& gpu = gpus_[static_cast<size_t>(place.gpu)];
    advance(gpu, t_ns);
    const Stream& stream = streams_[static_cast<size_t>(lane)];
    const int64_t free = free_ns(place, stream);
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
    gpu.unknown_streams += unknown ? 1 : -1;
    stream.unknown = unknown;
}

void Queues::add(const Call& call) {
    if (call.lane < 0) return;
    const Place& place = places_[static_cast<size_t>(call.lane)];
    if (place.gpu < 0) return;
    Stream& stream = streams_[static_cast<size_t>(call.lane)];
    if (call.kind == CallKind::operation) {
        add_operation(call, place, stream);
    } else if (call.kind == CallKind::record) {
        if (recorded_.size() >= kMostRecorded) recorded_.clear();
        recorded_[call.target_id] = std::max(free_ns(place, stream), stream.wait_ns);
    } else if (call.kind == CallKind::wait) {
        const auto found = recorded_.find(call.target_id);
        if (found != recorded_.end()) stream.wait_ns = std::max(stream.wait_ns, found->second);
    }
}

void Queues::add_operation(const Call& call, const Place& place, Stream& stream) {
    Gpu& gpu = gpus_[static_cast<size_t>(place.gpu)];
    const bool is_unknown = !call.timed && !call.completes;
    if (is_unknown != stream.unknown) set_unknown(stream, gpu, is_unknown);
    if (!call.timed) return;
    const int64_t start_ns = call.times.start_ns, end_ns = std::max(start_ns, call.times.end_ns);
    if (stream.is_over()) gpu.active.push_back(call.lane);
    if (stream.started == stream.items.size()) stream.change_ns = std::min(stream.change_ns, start_ns);
    stream.items.push_back({start_ns, end_ns});
    ++gpu.outstanding;
    ++gpu.pending;
    gpu.runway_ns += end_ns - start_ns;
    stream.end_ns = std::max(stream.end_ns, end_ns);
    gpu.end_ns = std::max(gpu.end_ns, end_ns);
    Context& context = contexts_[place.context];
    if (place.legacy) context.legacy_end_ns = std::max(context.legacy_end_ns, end_ns);
    if (place.joins_legacy) context.joined_end_ns = std::max(context.joined_end_ns, end_ns);
}

}  // namespace gpushim::analysis
