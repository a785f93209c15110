#include "objects.h"

#include "capture.h"
#include "engine/clock.h"
#include "entry.h"

namespace gpusim::driver {
namespace {

// Registries live for ever: programs call the driver from their last exit handlers.
template <class T>
Registry<T>& the() {
    static auto* const made = new Registry<T>;
    return *made;
}

}  // namespace

Registry<Context>& contexts() { return the<Context>(); }
Registry<Stream>& streams() { return the<Stream>(); }
Registry<Event>& events() { return the<Event>(); }
Registry<Module>& modules() { return the<Module>(); }
Registry<Function>& functions() { return the<Function>(); }
Registry<Library>& libraries() { return the<Library>(); }
Registry<Kernel>& kernels() { return the<Kernel>(); }

ContextStack& context_stack() {
    static constinit thread_local ContextStack stack{};
    return stack;
}

Context* current_context() {
    const auto& stack = context_stack();
    if (stack.empty()) return nullptr;
    Context* context = contexts().find(stack.back().context);
    return context != nullptr && context->id == stack.back().id ? context : nullptr;
}

CUresult current_context_error() {
    const auto held = engine::lock();
    const bool was_one = !context_stack().empty() && current_context() == nullptr;
    return was_one ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult fault_at(const Fault& fault, Ns moment) {
    return fault.error != 0 && moment >= fault.from_ns ? static_cast<CUresult>(fault.error) : CUDA_SUCCESS;
}

CUresult fault_by_now(const Fault& fault) { return fault_at(fault, clock::now()); }

CUresult current_fault() {
    if (Fault::how_many.load(std::memory_order_relaxed) == 0) return CUDA_SUCCESS;
    const auto held = engine::lock();
    engine::pump();
    const Context* context = current_context();
    return context != nullptr ? fault_by_now(*context->fault) : CUDA_SUCCESS;
}

uint64_t next_stream_id() {
    static uint64_t last = 0;
    return ++last;
}

Stream* find_stream(CUstream handle) {
    if (handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
        return streams().find(handle);
    Context* context = current_context();
    if (context == nullptr) return nullptr;
    const bool per_thread =
        handle == CU_STREAM_PER_THREAD || (handle == nullptr && call::default_is_per_thread());
    if (!per_thread) return context->legacy;
    Stream*& mine = context->per_thread[std::this_thread::get_id()];
    if (mine == nullptr) {
        mine = make_stream(*context, CU_STREAM_DEFAULT, 0);
        mine->is_per_thread = true;
    }
    return mine;
}

CUresult stream_error() {
    return current_context() == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
}

Stream* make_stream(Context& context, unsigned flags, int priority) {
    Stream* stream = streams().make();
    stream->context = &context;
    stream->id = next_stream_id();
    stream->flags = flags;
    stream->priority = priority;
    context.streams.insert(stream);
    return stream;
}

void destroy_stream(Stream& stream) {
    capture::leave(stream);
    Context& context = *stream.context;
    stream.tail.settle();
    context.departed.settle();
    context.departed.join(stream.tail);
    if (stream.blocking()) {
        context.departed_blocking.settle();
        context.departed_blocking.join(stream.tail);
    }
    context.streams.erase(&stream);
    std::erase_if(context.per_thread, [&](const auto& entry) { return entry.second == &stream; });
    streams().destroy(&stream);
}

Point context_point(Context& context) {
    context.departed.settle();
    Point all = context.departed;
    all.join(context.legacy->tail);
    for (const Stream* stream : context.streams) all.join(stream->tail);
    return all;
}

}  // namespace gpusim::driver
