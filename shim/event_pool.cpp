#include "event_pool.h"

namespace gpushim::shim {

uint32_t EventPool::take() { return kNoEvent; }
void EventPool::give(uint32_t) {}
CUevent EventPool::handle(uint32_t event) const { return places_[event].handle; }
uint32_t EventPool::made() const { return made_.load(); }
uint32_t EventPool::misses() const { return misses_.load(); }
bool EventPool::add(CUevent) { return false; }
void EventPool::retire() { retired_.store(true); }
bool EventPool::is_retired() const { return retired_.load(); }

EventPool* pool_of(uint32_t) { return nullptr; }
EventPool* make_pool(uint32_t, CUcontext) { return nullptr; }
void forget_pools() {}

}  // namespace gpushim::shim
