#include "pool.h"

#include <algorithm>
#include <vector>

#include "engine/clock.h"
#include "engine/knobs.h"
#include "engine/mover.h"
#include "graph_memory.h"

namespace gpusim::driver {
namespace {

bool is_over(Point& point) {
    point.settle();
    return point.open.empty() && clock::now() >= point.end_ns && mover::done(point.moves);
}

// Whatever the stream does next comes after `point` anyway, because of events or the legacy stream's rules.
bool comes_before(Point& point, const Point& next) {
    point.settle();
    return point.open.empty() && point.end_ns <= next.end_ns && point.moves <= next.moves;
}

bool fits(const Chunk& chunk, size_t bytes) {
    return chunk.block.size_bytes >= bytes && chunk.block.size_bytes / 2 <= bytes;
}

bool may_take(const Pool& pool, Chunk& chunk, const Stream& stream, const Point& next) {
    return chunk.stream_id == stream.id || (pool.follow_events != 0 && comes_before(chunk.freed, next)) ||
           (pool.opportunistic != 0 && is_over(chunk.freed));
}

void give_back(Pool& pool, std::list<Chunk>::iterator chunk) {
    pool.reserved -= chunk->block.size_bytes;
    free_block(chunk->block);
    pool.unused.erase(chunk);
}

// True if anything was given back.
bool shrink(Pool& pool, uint64_t keep_bytes) {
    bool any = false;
    for (auto chunk = pool.unused.begin(); chunk != pool.unused.end() && pool.reserved > keep_bytes;) {
        const auto next = std::next(chunk);
        if (is_over(chunk->freed)) {
            give_back(pool, chunk);
            any = true;
        }
        chunk = next;
    }
    return any;
}

void use(Pool& pool, Chunk chunk, size_t asked_bytes) {
    MemoryRange range = chunk.block;
    range.size_bytes = asked_bytes;
    add_range(range);
    pool.used += chunk.block.size_bytes;
    pool.used_high = std::max(pool.used_high, pool.used);
    pool.in_use[range.base] = std::move(chunk);
}

uintptr_t reuse(Pool& pool, size_t asked_bytes, Stream& stream) {
    const Point next = before_new_work(stream);
    const size_t bytes = allocation_bytes(asked_bytes);
    for (auto chunk = pool.unused.begin(); chunk != pool.unused.end(); ++chunk) {
        if (!fits(*chunk, bytes) || !may_take(pool, *chunk, stream, next)) continue;
        const uintptr_t base = chunk->block.base;
        use(pool, *chunk, asked_bytes);
        pool.unused.erase(chunk);
        return base;
    }
    return 0;
}

// When memory is short: the stream is made to wait for a free that is still to come.
uintptr_t reuse_later(Pool& pool, size_t asked_bytes, Stream& stream) {
    const auto fitting = std::find_if(pool.unused.begin(), pool.unused.end(), [&](const Chunk& chunk) {
        return chunk.block.size_bytes >= allocation_bytes(asked_bytes);
    });
    if (pool.internal_dependencies == 0 || fitting == pool.unused.end()) return 0;
    stream.tail.join(fitting->freed);
    const uintptr_t base = fitting->block.base;
    use(pool, *fitting, asked_bytes);
    pool.unused.erase(fitting);
    return base;
}

uintptr_t grow(Pool& pool, size_t asked_bytes) {
    const size_t bytes = allocation_bytes(asked_bytes);
    if (bytes == 0 || (pool.properties.maxSize != 0 && pool.reserved + bytes > pool.properties.maxSize))
        return 0;
    const uintptr_t base = allocate_on_device(*pool.device, bytes, MemoryOrigin::pool, &pool);
    if (base == 0) return 0;
    pool.reserved += bytes;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    Chunk chunk;
    chunk.block = *find_range(base);
    use(pool, chunk, asked_bytes);
    return base;
}

void sweep(Pool& pool) {
    shrink(pool, pool.destroyed ? 0 : pool.release_threshold);
    if (pool.destroyed && pool.in_use.empty() && pool.unused.empty()) pools().destroy(&pool);
}

Operation described(const char* word, const Place& place) {
    Operation op;
    op.op = word;
    op.device = place.context->device->ordinal;
    op.stream = place.stream_id;
    op.earliest_ns = place.issued_ns + (place.in_graph ? 0 : knobs().latency_ns);
    op.fault = place.context->fault;
    return op;
}

}  // namespace

Registry<Pool>& pools() {
    static auto* const made = new Registry<Pool>;
    return *made;
}

Pool& make_pool(Device& on, const CUmemPoolProps& properties) {
    Pool* pool = pools().make();
    pool->device = &on;
    pool->properties = properties;
    return *pool;
}

Pool& default_pool(Device& on) {
    if (on.default_pool == nullptr) {
        CUmemPoolProps properties{};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, on.ordinal};
        on.default_pool = &make_pool(on, properties);
        on.default_pool->is_default = true;
    }
    return *on.default_pool;
}

Pool& current_pool(Device& on) { return on.current_pool != nullptr ? *on.current_pool : default_pool(on); }

void destroy_pool(Pool& pool) {
    if (pool.device->current_pool == &pool) pool.device->current_pool = nullptr;
    pool.destroyed = true;
    sweep(pool);
}

uintptr_t take_from_pool(Pool& pool, size_t size_bytes, Stream& stream) {
    if (size_bytes > SIZE_MAX / 4) return 0;
    if (const uintptr_t base = reuse(pool, size_bytes, stream); base != 0) return base;
    if (const uintptr_t base = grow(pool, size_bytes); base != 0) return base;
    return reuse_later(pool, size_bytes, stream);
}

void give_back_to_pool(uintptr_t base, const Point& freed, uint64_t stream_id) {
    Pool& pool = *find_range(base)->pool;
    const auto found = pool.in_use.find(base);
    Chunk chunk = std::move(found->second);
    pool.in_use.erase(found);
    pool.used -= chunk.block.size_bytes;
    chunk.freed = freed;
    chunk.stream_id = stream_id;
    pool.unused.push_back(std::move(chunk));
    remove_range(base);
}

void trim(Pool& pool, size_t keep_bytes) { shrink(pool, keep_bytes); }

void release_unused_pool_memory() {
    const auto all = pools().all();
    for (Pool* pool : all) sweep(*pool);
}

bool squeeze_pools(const Device& on) {
    bool any = false;
    for (Pool* pool : pools().all())
        if (pool->device == &on) any = shrink(*pool, 0) || any;
    return any;
}

CUdeviceptr allocate_graph_memory(const AllocWork& work, Context& context) {
    if (work.bytes > SIZE_MAX / 4) return 0;
    return allocate_on_device(*context.device, work.bytes, MemoryOrigin::graph, nullptr);
}

void free_graph_memory(CUdeviceptr address) { free_device_memory(address); }

// The memory itself was chosen during the call: what is ordered by the stream is its use.
Point issue_work(const AllocWork& work, const Place& place, const Point& after) {
    Operation op = described("alloc", place);
    op.bytes = static_cast<int64_t>(work.bytes);
    return engine::issue(std::move(op), {&after});
}

Point issue_work(const FreeWork& work, const Place& place, const Point& after) {
    const MemoryRange* range = find_range(work.address);
    Operation op = described("free", place);
    op.bytes = range != nullptr ? static_cast<int64_t>(range->size_bytes) : 0;
    const bool gone = range == nullptr || range->base != work.address;
    if (gone) op.error = CUDA_ERROR_ILLEGAL_ADDRESS;
    const Point end = engine::issue(std::move(op), {&after});
    if (gone) return end;
    const MemoryOrigin origin = range->origin;  // giving it back ends the range
    if (origin == MemoryOrigin::pool) give_back_to_pool(work.address, end, place.stream_id);
    if (origin == MemoryOrigin::graph && !place.in_graph) graph_memory::freed(work.address);
    return end;
}

}  // namespace gpusim::driver
