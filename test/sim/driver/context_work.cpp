// Events of a whole context: they stand for all of its streams at once. By the header neither may be called
// while one of its streams is being captured.
#include "capture.h"
#include "entry.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

template <class Answer>
CUresult about(CUcontext context_handle, CUevent event_handle, Answer answer) {
    const auto held = engine::lock();
    Context* context = context_handle == nullptr ? current_context() : contexts().find(context_handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Event* event = events().find(event_handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    RETURN_IF_FAILED(capture::forbids_context_sync(*context));
    return answer(*context, *event);
}

}  // namespace

API(cuCtxRecordEvent)(CUcontext context_handle, CUevent event_handle) {
    return about(context_handle, event_handle, [](Context& context, Event& event) {
        if (event.context != &context) return CUDA_ERROR_INVALID_HANDLE;
        const Place place{&context, context.legacy->id, call::enter_ns()};
        issue_work(RecordWork{&event}, place, context_point(context));
        return CUDA_SUCCESS;
    });
}

API(cuCtxWaitEvent)(CUcontext context_handle, CUevent event_handle) {
    return about(context_handle, event_handle, [](Context& context, Event& event) {
        const WaitWork wait{&event};
        const Place place{&context, 0, call::enter_ns()};
        context.legacy->tail = issue_work(wait, place, context.legacy->tail);
        for (Stream* stream : context.streams) stream->tail = issue_work(wait, place, stream->tail);
        return CUDA_SUCCESS;
    });
}
