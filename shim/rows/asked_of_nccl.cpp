#include "asked_of_nccl.h"

#include <algorithm>

#include "../sqlite/database.h"

namespace gpushim::shim {
namespace {

// NCCL counts some operations in bytes.
bool fits(const AskedOfNccl::Told& told, const AskedOfNccl::Operation& asked) {
    return asked.function == told.function && (asked.count == told.count || asked.bytes == told.count) &&
           (told.peer == kNull || asked.peer == told.peer);
}

}  // namespace

void AskedOfNccl::add(int64_t thread, int64_t group, const Operation& operation) {
    if (groups_.size() >= kMostThreads && !groups_.contains(thread)) groups_.clear();
    Group& of = groups_[thread];
    if (of.number != group) of = {group, {}};
    if (of.operations.size() < kMostOperations) of.operations.push_back(operation);
}

bool AskedOfNccl::can_be(const Told& told, const Operation& asked) const {
    if (told.rank != kNull && asked.rank != kNull && told.rank != asked.rank) return false;
    const auto taken = theirs_.find(asked.communicator_id);
    return taken == theirs_.end() || taken->second == told.nccl_communicator_id;
}

int64_t AskedOfNccl::communicator_of(const Told& told, const Group& group) {
    if (const auto known = ours_.find(told.nccl_communicator_id); known != ours_.end()) return known->second;
    int64_t found = kNull;
    for (const Operation& asked : group.operations) {
        if (!can_be(told, asked) || asked.communicator_id == found) continue;
        if (found != kNull) return kNull;
        found = asked.communicator_id;
    }
    if (found != kNull && told.nccl_communicator_id != kNull) {
        ours_[told.nccl_communicator_id] = found;
        theirs_[found] = told.nccl_communicator_id;
    }
    return found;
}

// NCCL queues the operations of a group in an order of its own; those that it cannot tell apart are alike.
AskedOfNccl::Found AskedOfNccl::take(const Told& told) {
    const auto known = groups_.find(told.thread);
    if (known == groups_.end() || known->second.number != told.group) return {kNull, kNull};
    Group& group = known->second;
    const int64_t communicator_id = communicator_of(told, group);
    if (communicator_id == kNull) return {kNull, kNull};
    const auto found = std::ranges::find_if(group.operations, [&](const Operation& asked) {
        return asked.communicator_id == communicator_id && fits(told, asked);
    });
    if (found == group.operations.end()) return {communicator_id, kNull};
    const Found answer = {communicator_id, found->seq};
    group.operations.erase(found);
    return answer;
}

}  // namespace gpushim::shim
