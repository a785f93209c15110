#include "profile.h"

#include <atomic>
#include <utility>

namespace gpusim::profile {
namespace {

std::atomic<const Profiler*> attached{nullptr};
thread_local uint32_t this_call = 0;  // 0: none, or nobody asked for its number
thread_local uint64_t this_node = 0;

}  // namespace

void attach(const Profiler& profiler) { attached.store(&profiler); }

void enter_call(const char* name) {
    const Profiler* profiler = attached.load(std::memory_order_acquire);
    this_call = profiler != nullptr ? profiler->entered(name) : 0;
}

void leave_call(const char* name) {
    const uint32_t number = std::exchange(this_call, 0);
    if (number != 0) attached.load(std::memory_order_acquire)->left(name, number);
}

IssuesNode::IssuesNode(uint64_t id) : before_(std::exchange(this_node, id)) {}
IssuesNode::~IssuesNode() { this_node = before_; }

void issued(Operation& operation) {
    operation.call = this_call;
    operation.node = this_node;
}

void known(const Operation& operation) {
    if (operation.call != 0) attached.load(std::memory_order_acquire)->known(operation);
}

}  // namespace gpusim::profile
