#include "host_calls.h"

#include "../../trace/host_inside.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kPageable = 1;  // memory of the source: `sides` & 7

constexpr int64_t kFewBytes = 64 << 10, kLongNs = 100'000;

// So few bytes take microseconds: what takes so much longer waits for what is in the queue.
bool is_wait(const Call& copy) {
    return copy.bytes >= 0 && copy.bytes <= kFewBytes && copy.exit_ns - copy.enter_ns >= kLongNs;
}

What what_of_operation(const Call& call) {
    if (call.type == OperationClass::h2d) {
        const bool pageable = call.detail != kNotRecorded && (call.detail & 7) == kPageable;
        if (!pageable && !call.blocking) return What::launch;
        return is_wait(call) ? What::sync : What::staging;
    }
    return call.completes || (call.type == OperationClass::d2h && call.blocking) ? What::sync : What::launch;
}

// None: it is not, or says what is not known here.
std::optional<What> what_inside(const Call& call) {
    if (call.kind != CallKind::inside) return {};
    switch (static_cast<HostInside>(call.detail)) {
        case HostInside::input:
            return What::loading;
        case HostInside::optimizer:
            return What::optimizing;
        case HostInside::framework:
            return What::dispatching;
        case HostInside::python:
            return What::python;
        case HostInside::waits:
            return What::told_wait;
        case HostInside::allocates:
            return What::alloc_or_load;
        case HostInside::messages:
            return What::comm;
        case HostInside::sampled:
        case HostInside::untold:
            break;
    }
    return {};
}

LoadingStage stage_of(const Call& inside) {
    const bool is_known =
        inside.blocked_on > 0 && inside.blocked_on < static_cast<int32_t>(LoadingStage::count);
    return is_known ? static_cast<LoadingStage>(inside.blocked_on) : LoadingStage::untold;
}

// The interpreter's own doing, if it told, comes before what names tell.
PythonDoes does_of(const Call& sample, PythonDoes by_names) {
    constexpr int32_t kLock = 1, kGarbage = 2;  // python_sample.doing
    if (sample.blocked_on == kLock) return PythonDoes::waits_for_lock;
    if (sample.blocked_on == kGarbage) return PythonDoes::collects_garbage;
    return by_names;
}

}  // namespace

std::optional<What> what_of(const Call& call) {
    if (call.kind == CallKind::operation) return what_of_operation(call);  // most
    switch (call.kind) {
        case CallKind::sync:
            return What::sync;
        case CallKind::record:
        case CallKind::wait:
            return What::launch;
        case CallKind::memory:
        case CallKind::load:
            return What::alloc_or_load;
        case CallKind::begin_capture:
        case CallKind::end_capture:
        case CallKind::make_graph:
            return What::making_graph;
        case CallKind::collective:
            return What::comm;
        case CallKind::other:
            return call.exit_ns - call.enter_ns >= kSlowNs ? What::slow_call : What::other_call;
        case CallKind::host_call:
            return What::other_call;
        default:
            return {};
    }
}

HostCalls::HostCalls(const TraceFacts& facts) : facts_(facts) {
    for (size_t i = 0; i < facts.lanes.size(); ++i)
        context_gpus_[facts.lanes[i].context_handle_id] = facts.gpu_of_lane[i];
    for (const std::string& on : facts.host_classes) stages_.push_back(stage_of_blocked(on));
}

HostLine& HostCalls::line_of(int64_t thread) {
    if (last_ == nullptr || last_thread_ != thread) {
        last_ = &lines_[thread];  // its place stays the same when others are added
        last_thread_ = thread;
    }
    return *last_;
}

void HostCalls::take(const Call& call, std::optional<What> what) {
    what ? take_call(call, *what) : take_inside(call);
}

void HostCalls::take_call(const Call& call, What what) {
    const bool is_of_gpu = what == What::launch || what == What::sync;
    const int32_t gpu = is_of_gpu ? gpu_of(call) : kNoGpu;
    line_of(call.thread_id).add(HostCall{what, call.enter_ns, call.exit_ns, gpu});
    if (call.kind == CallKind::begin_capture || call.kind == CallKind::end_capture) note_capture(call);
    if (call.kind == CallKind::record && call.lane != kNoLane) note_event(call);
}

void HostCalls::take_inside(const Call& call) {
    if (call.kind == CallKind::host_gap) {
        HostGap gap = {call.enter_ns, call.exit_ns, {}, call.runqueue_ns, call.blocked_on};
        if (call.blocked_on >= 0) gap.stage = stages_[static_cast<size_t>(call.blocked_on)];
        if (call.detail != kNotRecorded) gap.running_ns = call.detail;
        line_of(call.thread_id).add(gap);
    } else if (const auto inside = what_inside(call)) {
        line_of(call.thread_id).add(HostCall{*inside, call.enter_ns, call.exit_ns, kNoGpu, stage_of(call)});
    } else if (call.kind == CallKind::inside && call.detail == static_cast<int64_t>(HostInside::untold)) {
        line_of(call.thread_id).add_untold(call.enter_ns);
    } else if (call.kind == CallKind::inside) {
        const auto stack = facts_.python.of_frame.find(call.target_id);
        if (stack != facts_.python.of_frame.end())
            line_of(call.thread_id)
                .add(HostSample{call.enter_ns, stack->second.place, does_of(call, stack->second.does),
                                stack->second.stage});
    }
}

int32_t HostCalls::gpu_of_target(const Call& call) const {
    if (call.kind != CallKind::sync || call.target_id == kNoTarget) return kNoGpu;
    for (const auto* gpus : {&event_gpus_, &context_gpus_})
        if (const auto found = gpus->find(call.target_id); found != gpus->end()) return found->second;
    return kNoGpu;
}

// Programs that make an event for each use leave many behind: of one that is forgotten no GPU is known.
void HostCalls::note_event(const Call& call) {
    if (event_gpus_.size() >= kMostEvents) event_gpus_.clear();
    event_gpus_[call.target_id] = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
}

// What a thread does while it captures is making a graph; what it launches into the capture does not run. One
// that never ends is none: it may have failed. Its begin is before calls that were added: HostLine puts it in
// front of those that decide less.
void HostCalls::note_capture(const Call& call) {
    const std::pair key(call.thread_id, call.lane);
    if (call.kind == CallKind::begin_capture) {
        if (captures_.size() >= kMostCaptures) captures_.clear();
        captures_[key] = call.enter_ns;
        return;
    }
    const auto begun = captures_.find(key);
    if (begun == captures_.end()) return;
    line_of(call.thread_id).add(HostCall{What::making_graph, begun->second, call.exit_ns, kNoGpu});
    captures_.erase(begun);
}

size_t HostCalls::size() const {
    size_t pieces = 0;
    for (const auto& [thread, line] : lines_) pieces += line.size();
    return pieces;
}

void HostCalls::forget_before(int64_t t_ns, int64_t now_ns) {
    for (auto& [thread, line] : lines_) line.forget_before(t_ns);
    while (size() > kMostPieces && t_ns < now_ns) {
        t_ns += (now_ns - t_ns + 1) / 2;
        for (auto& [thread, line] : lines_) line.forget_before(t_ns);
    }
}

}  // namespace gpushim::analysis
