#include "work.h"

#include <algorithm>
#include <cstdlib>

#include "capture.h"
#include "engine/clock.h"
#include "engine/host_function.h"
#include "engine/knobs.h"
#include "engine/variation.h"
#include "entry.h"
#include "ipc.h"
#include "pool.h"

namespace gpusim::driver {
namespace {

Operation describe(const char* word, const Place& place) {
    Operation op;
    op.op = word;
    op.device = place.context->device->ordinal;
    op.stream = place.stream_id;
    op.earliest_ns = place.issued_ns + (place.in_graph ? 0 : knobs().latency_ns);
    op.fault = place.context->fault;
    return op;
}

// Work on the legacy stream comes after all that blocking streams have, and theirs after its own.
Point with_blocking_streams(Context& context) {
    context.departed_blocking.settle();
    Point all = context.departed_blocking;
    all.join(context.legacy->tail);
    for (Stream* stream : context.streams)
        if (stream->blocking()) {
            stream->tail.settle();
            all.join(stream->tail);
        }
    return all;
}

}  // namespace

void KernelWork::keep_parameters() {
    struct Copies {
        std::vector<std::vector<std::byte>> values;
        std::vector<void*> pointers;
    };
    if (function == nullptr || parameters == nullptr) return;
    const auto copies = std::make_shared<Copies>();
    for (size_t i = 0; i < function->parameters.size(); ++i) {
        const auto* bytes = static_cast<const std::byte*>(parameters[i]);
        copies->values.emplace_back(bytes, bytes + function->parameters[i].size);
    }
    for (auto& value : copies->values) copies->pointers.push_back(value.data());
    parameters = copies->pointers.data();
    kept = copies;
}

Point issue_work(const KernelWork& work, const Place& place, const Point& after) {
    const Function& function = *work.function;
    Operation op = describe("kernel", place);
    op.name = function.name;
    op.duration_ns = vary_kernel(function.duration_ns, op.device);
    op.error = function.fails_with;
    if (const KernelImage* image = function.module->image->kernels; image != nullptr)
        op.behaviour =
            image->begin(function.name, work.parameters != nullptr ? work.parameters[0] : nullptr, op.device);
    return engine::issue(std::move(op), {&after});
}

Point issue_work(const HostWork& work, const Place& place, const Point& after) {
    Operation op = describe("host", place);
    op.earliest_ns = place.issued_ns;
    op.behaviour = host_function_at([work, fault = place.context->fault](Ns start_ns) {
        if (work.function != nullptr) work.function(work.data);
        if (work.callback != nullptr)
            work.callback(work.callback_stream, fault_at(*fault, start_ns), work.data);
    });
    return engine::issue(std::move(op), {&after});
}

// An event is a command of its own: it takes its time on the device, and its stamp is taken at its end.
Point issue_work(const RecordWork& work, const Place& place, const Point& after) {
    Operation op = describe("event", place);
    op.earliest_ns = place.issued_ns;
    op.duration_ns = knobs().event_latency_ns;
    Point end = engine::issue(std::move(op), {&after});
    work.event->point = end;
    work.event->recorded = true;
    work.event->capture = nullptr;
    if (work.event->shared != nullptr) interprocess::recorded(*work.event);
    return end;
}

Point issue_work(const WaitWork& work, const Place&, const Point& after) {
    Point joined = after;
    if (work.event->shared != nullptr) interprocess::refresh(*work.event);
    work.event->point.settle();
    joined.join(work.event->point);
    return joined;
}

Point issue_work(const EmptyWork&, const Place&, const Point& after) { return after; }

Point before_new_work(Stream& stream) {
    if (stream.is_legacy) return with_blocking_streams(*stream.context);
    stream.tail.settle();
    Point before = stream.tail;
    if (!stream.blocking()) return before;
    Point& legacy = stream.context->legacy->tail;
    legacy.settle();
    before.join(legacy);
    return before;
}

namespace {

// Streams share so many hardware queues, in turn; 0: each has its own.
size_t hardware_queues() {
    if (knobs().queues == 0) return 0;
    const char* asked = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const int number = asked != nullptr ? atoi(asked) : 0;
    return number >= 1 && number <= 32 ? static_cast<size_t>(number) : 8;
}

Point* queue_of(Stream& stream) {
    static const size_t queues = hardware_queues();
    if (queues == 0) return nullptr;
    stream.context->queues.resize(queues);
    return &stream.context->queues[stream.id % queues];
}

// An event, or a wait, stands in its queue until what it waits for is over; all else only until it begins.
bool stands_in_queue(const Work& work) {
    return std::holds_alternative<RecordWork>(work) || std::holds_alternative<WaitWork>(work);
}

bool is_programmatic(const Work& work) {
    const auto* kernel = std::get_if<KernelWork>(&work);
    return kernel != nullptr &&
           std::any_of(kernel->attributes.begin(), kernel->attributes.end(), [](const CUlaunchAttribute& a) {
               return a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                      a.value.programmaticStreamSerializationAllowed != 0;
           });
}

// What such a kernel has to come after, right behind another: all that this one does, and all of it but its
// end. Where nobody knows yet when that is, it waits as any other.
Point before_programmatic(const Stream& stream, const Point& before) {
    if (!stream.before_last || !before.open.empty() || before.end_ns != stream.tail.end_ns) return before;
    Point early = *stream.before_last;
    early.end_ns = std::max(early.end_ns, before.end_ns - knobs().programmatic_ns);
    return early;
}

}  // namespace

CUresult submit(Stream& stream, Work work, Point* end) {
    if (stream.capture != nullptr) return capture::record(stream, std::move(work));
    if (stream.is_legacy) RETURN_IF_FAILED(capture::forbids_legacy(*stream.context));
    RETURN_IF_FAILED(fault_by_now(*stream.context->fault));
    life::operation_issued();
    const Place place{stream.context, stream.id, call::enter_ns()};
    Point before = before_new_work(stream);
    Point* const queue = queue_of(stream);
    if (queue != nullptr) queue->settle();
    if (queue != nullptr) before.join(*queue);
    const bool is_kernel = std::holds_alternative<KernelWork>(work);
    const bool is_event = std::holds_alternative<RecordWork>(work);
    const bool has_gap = (is_kernel && stream.ends_in_event) || (is_event && stream.before_last);
    if (has_gap && before.open.empty()) before.end_ns += knobs().gap_ns;
    const bool is_early = is_programmatic(work);
    const Point after = is_early ? before_programmatic(stream, before) : before;
    stream.tail = std::visit([&](const auto& kind) { return issue_work(kind, place, after); }, work);
    if (is_early) stream.tail.join(before);
    stream.before_last.reset();
    if (is_kernel) stream.before_last = after;
    stream.ends_in_event = is_event;
    if (queue != nullptr) *queue = stands_in_queue(work) ? stream.tail : before;
    if (end != nullptr) *end = stream.tail;
    return CUDA_SUCCESS;
}

CUresult submit_and_wait(Stream& stream, Work work, engine::Lock& held) {
    RETURN_IF_FAILED(capture::forbids_sync(stream));
    Point end;
    Context& context = *stream.context;
    RETURN_IF_FAILED(submit(stream, std::move(work), &end));
    return wait_for(std::move(end), context, held);
}

CUresult wait_for(Point point, Context& context, engine::Lock& held) {
    const auto fault = context.fault;  // the context may be destroyed meanwhile
    engine::wait(point, held);
    release_unused_pool_memory();
    return fault_by_now(*fault);
}

}  // namespace gpusim::driver
