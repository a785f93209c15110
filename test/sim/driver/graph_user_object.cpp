#include "graph_user_object.h"

#include <algorithm>
#include <climits>

#include "engine/host_function.h"
#include "graph.h"

namespace gpusim::driver {
namespace {

Registry<UserObject>& user_objects() {
    static auto* const registry = new Registry<UserObject>;
    return *registry;
}

bool is_count(unsigned count) { return count != 0 && count <= INT_MAX; }

}  // namespace

namespace user_object {

void retain(UserObject& object, unsigned count) { object.references += count; }

void release(UserObject& object, unsigned count) {
    object.references -= std::min(count, object.references);
    if (object.references != 0) return;
    Operation op;
    op.silent = true;
    op.behaviour = host_function([destroy = object.destroy, pointer = object.pointer] { destroy(pointer); });
    engine::issue(std::move(op), {});
    user_objects().destroy(&object);
}

}  // namespace user_object
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuUserObjectCreate)
(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned references, unsigned flags) {
    if (object == nullptr || destroy == nullptr || !is_count(references) ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    *object = reinterpret_cast<CUuserObject>(user_objects().make(pointer, destroy, references));
    return CUDA_SUCCESS;
}

API(cuUserObjectRetain)(CUuserObject handle, unsigned count) {
    const auto held = engine::lock();
    UserObject* object = user_objects().find(handle);
    if (object == nullptr || !is_count(count)) return CUDA_ERROR_INVALID_VALUE;
    user_object::retain(*object, count);
    return CUDA_SUCCESS;
}

API(cuUserObjectRelease)(CUuserObject handle, unsigned count) {
    const auto held = engine::lock();
    UserObject* object = user_objects().find(handle);
    if (object == nullptr || !is_count(count) || count > object->references) return CUDA_ERROR_INVALID_VALUE;
    user_object::release(*object, count);
    return CUDA_SUCCESS;
}

API(cuGraphRetainUserObject)(CUgraph handle, CUuserObject object_handle, unsigned count, unsigned flags) {
    const auto held = engine::lock();
    Graph* graph = graphs().find(handle);
    UserObject* object = user_objects().find(object_handle);
    const bool known_flags = (flags & ~static_cast<unsigned>(CU_GRAPH_USER_OBJECT_MOVE)) == 0;
    if (graph == nullptr || object == nullptr || !is_count(count) || !known_flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags == 0) user_object::retain(*object, count);
    graph->user_objects[object] += count;
    return CUDA_SUCCESS;
}

API(cuGraphReleaseUserObject)(CUgraph handle, CUuserObject object_handle, unsigned count) {
    const auto held = engine::lock();
    Graph* graph = graphs().find(handle);
    UserObject* object = user_objects().find(object_handle);
    if (graph == nullptr || object == nullptr || !is_count(count)) return CUDA_ERROR_INVALID_VALUE;
    const auto held_by_graph = graph->user_objects.find(object);
    if (held_by_graph == graph->user_objects.end() || held_by_graph->second < count)
        return CUDA_ERROR_INVALID_VALUE;
    held_by_graph->second -= count;
    if (held_by_graph->second == 0) graph->user_objects.erase(held_by_graph);
    user_object::release(*object, count);
    return CUDA_SUCCESS;
}
