#include "queues.h"

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
        Stream& stream = streams_[i];
        stream.gpu = facts.gpu_of_lane[i];
        stream.context = contexts.try_emplace(lane.context_id, number).first->second;
        stream.legacy = lane.legacy;
        stream.joins_legacy = lane.joins_legacy;
        stream.is_joined = lane.legacy || lane.joins_legacy;
    }
    contexts_.resize(contexts.size());
}

void Queues::clear() {
    for (Stream& stream : streams_) stream.clear();
    std::fill(gpus_.begin(), gpus_.end(), Gpu{});
    std::fill(contexts_.begin(), contexts_.end(), Context{});
    recorded_.clear();
}

void Queues::Stream::clear() {
    unknown = false;
    items.clear();
    ended = running = waiting = 0;
    change_ns = INT64_MAX;
    end_ns = wait_ns = 0;
}

// Goes on to then: whether nothing of it is left.
bool Queues::ends(Stream& stream, Gpu& gpu, int64_t t_ns) {
    stream.change_ns = INT64_MAX;
    const Item* const end = stream.items.data() + stream.items.size();
    const Item* next = end - stream.waiting;
    const Item* runs = next - stream.running;
    for (; next != end; ++next) {
        if (next->start_ns > t_ns) {
            stream.change_ns = next->start_ns;
            break;
        }
        --gpu.pending;
        gpu.runway_ns -= next->end_ns - next->start_ns;
    }
    for (; runs != next && runs->end_ns <= t_ns; ++runs) --gpu.outstanding;
    if (runs != next) stream.change_ns = std::min(stream.change_ns, runs->end_ns);
    stream.waiting = static_cast<size_t>(end - next);
    stream.running = static_cast<size_t>(next - runs);
    stream.ended = stream.items.size() - stream.waiting - stream.running;
    if (stream.ended >= kForgottenAtOnce && 2 * stream.ended >= stream.items.size()) stream.forget_ended();
    return stream.waiting + stream.running == 0;
}

void Queues::Stream::forget_ended() {
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(ended));
    ended = 0;
}

void Queues::set_unknown(Stream& stream, Gpu& gpu, bool unknown) {
    gpu.unknown_streams += unknown ? 1 : -1;
    stream.unknown = unknown;
}

void Queues::add_event(const Call& call, Stream& stream) {
    if (call.kind == CallKind::record) {
        if (recorded_.size() >= kMostRecorded) recorded_.clear();
        const int64_t free = stream.is_joined ? joined_free_ns(stream) : stream.end_ns;
        recorded_[call.target_id] = std::max(free, stream.wait_ns);
    } else if (call.kind == CallKind::wait) {
        const auto found = recorded_.find(call.target_id);
        if (found != recorded_.end()) stream.wait_ns = std::max(stream.wait_ns, found->second);
    }
}

int64_t Queues::joined_free_ns(const Stream& stream) const {
    const Context& context = contexts_[stream.context];
    return std::max(stream.end_ns, stream.legacy ? context.joined_end_ns : context.legacy_end_ns);
}

void Queues::note_end(const Stream& stream, int64_t end_ns) {
    Context& context = contexts_[stream.context];
    if (stream.legacy) context.legacy_end_ns = std::max(context.legacy_end_ns, end_ns);
    if (stream.joins_legacy) context.joined_end_ns = std::max(context.joined_end_ns, end_ns);
}

}  // namespace gpushim::analysis
