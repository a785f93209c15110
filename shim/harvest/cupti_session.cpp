#include "cupti_session.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unordered_set>

#include "../calls/api.h"
#include "../lifecycle.h"
#include "../ring/clock.h"
#include "../sqlite/rows.h"
#include "../timing/cupti_callbacks.h"
#include "clock_probe.h"

namespace gpushim::shim {
namespace {

constexpr CUpti_CallbackId kMostCallbacks = 4096;
constexpr int kReadings = 5;
constexpr size_t kMostNames = 1 << 14;
// From one look to the next CUPTI's clock moves by no more against ours, and a thousandth of the time between
// the two: a clock that is being corrected drifts half of that at most. Nor is it further from the calendar.
constexpr int64_t kMostDriftNs = 1'000'000;
constexpr int64_t kMostDriftShare = 1'000;

bool asks_for_operation(const ApiTraits& api) {
    return api.kind == EventKind::launch || api.kind == EventKind::graph_launch ||
           api.kind == EventKind::copy || api.kind == EventKind::memset;
}

std::unordered_set<std::string_view> names_of_operations() {
    std::unordered_set<std::string_view> names;
    for (const ApiTraits& api : api_traits)
        if (asks_for_operation(api)) names.insert(api.name);
    return names;
}

}  // namespace

bool CuptiSession::refuse(const std::string& why, int64_t error) {
    refused_ = why;
    error_ = error;
    return false;
}

bool CuptiSession::check(const char* call, CUptiResult result) {
    return result == CUPTI_SUCCESS || refuse(std::string(call) + " failed", static_cast<int64_t>(result));
}

bool CuptiSession::open() {
    error_ = kNull;
    library_ = open_cupti();
    if (library_.path.empty()) return refuse("neither libcupti.so.13 nor .12 was found", kNull);
    // Its objects have registered their end; what it begins now may register more.
    watch_exit_again();
    if (*library_.lacks != '\0') return refuse(std::string("the library has no ") + library_.lacks, kNull);
    if (library_.version < kOldestCupti || library_.version > kNewestCupti)
        return refuse("records of this version of CUPTI are not known", kNull);
    if (!make_cupti_buffers()) return refuse("no memory for records", kNull);
    if (!subscribe()) return false;
    if (!enable()) {
        undo();
        return false;
    }
    watch_exit_again();
    return true;
}

// The newer form tells who is there already.
bool CuptiSession::subscribe() {
    char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = {};
    CUptiResult result;
    if (library_.calls.cuptiSubscribe_v2 != nullptr) {
        CUpti_SubscriberParams params = {};
        params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
        params.subscriberName = "gpushim";
        params.oldSubscriberName = holder;
        params.oldSubscriberSize = sizeof holder - 1;
        result = library_.calls.cuptiSubscribe_v2(&subscriber_, on_driver_call, nullptr, &params);
    } else {
        result = library_.calls.cuptiSubscribe(&subscriber_, on_driver_call, nullptr);
    }
    if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return check("cuptiSubscribe", result);
    return refuse("another profiler holds CUPTI" + (*holder != '\0' ? ": " + std::string(holder) : ""),
                  static_cast<int64_t>(result));
}

bool CuptiSession::enable() {
    const CuptiCalls& calls = library_.calls;
    // No timestamp callback of ours: there is one for all tools of a process, and another tool's would be
    // lost, or take the place of ours without a word (PyTorch's profiler registers one).
    if (!check("cuptiActivityRegisterCallbacks",
               calls.cuptiActivityRegisterCallbacks(on_buffer_requested, on_buffer_completed)))
        return false;
    // Calls first: a record whose call nobody has seen is of no use.
    if (!enable_callbacks()) return false;
    return std::all_of(std::begin(kRecordKinds), std::end(kRecordKinds), [&](CUpti_ActivityKind kind) {
        return check("cuptiActivityEnable", calls.cuptiActivityEnable(kind));
    });
}

// By name: numbers of callbacks are the library's own affair, and the names are those of the hook tables.
bool CuptiSession::enable_callbacks() {
    const std::unordered_set<std::string_view> wanted = names_of_operations();
    size_t enabled = 0;
    for (CUpti_CallbackId id = 1; id < kMostCallbacks; ++id) {
        const char* name = nullptr;
        if (library_.calls.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS)
            continue;
        if (name == nullptr || !wanted.contains(name)) continue;
        if (!check("cuptiEnableCallback",
                   library_.calls.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id)))
            return false;
        ++enabled;
    }
    return enabled != 0 || refuse("CUPTI knows none of the calls that gpushim knows", kNull);
}

void CuptiSession::undo() {
    for (const CUpti_ActivityKind kind : kRecordKinds) library_.calls.cuptiActivityDisable(kind);
    library_.calls.cuptiUnsubscribe(subscriber_);
}

// The calendar can be set: then its distance changes, and the clock is the same. A clock that another tool
// has registered may be a counter that runs at any rate: it is not followed, and its records show as records
// of another clock.
bool CuptiSession::is_same_clock(int64_t theirs_ns, int64_t offset_ns) const {
    const int64_t passed_ns = trace_now_ns() - looked_ns_;
    const int64_t most_ns = kMostDriftNs + passed_ns / kMostDriftShare;
    if (!has_offset_ || std::abs(offset_ns - offset_ns_) <= most_ns) return true;
    const ClockPair now = read_pair(static_cast<ClockKind>(process_state->clock_kind));
    return std::abs(now.real_ns - theirs_ns) <= kMostDriftNs;
}

// The narrowest of some readings of its clock between two of ours. What it has moved by since the look before
// is unsure of the records of that time.
void CuptiSession::look_at_clock() {
    int64_t narrowest_ns = INT64_MAX, offset_ns = 0, theirs_ns = 0;
    for (int i = 0; i < kReadings; ++i) {
        uint64_t theirs = 0;
        const int64_t before_ns = trace_now_ns();
        if (library_.calls.cuptiGetTimestamp(&theirs) != CUPTI_SUCCESS) continue;
        const int64_t width_ns = trace_now_ns() - before_ns;
        if (width_ns >= narrowest_ns) continue;
        narrowest_ns = width_ns;
        theirs_ns = static_cast<int64_t>(theirs);
        offset_ns = before_ns + width_ns / 2 - theirs_ns;
    }
    if (narrowest_ns == INT64_MAX || !is_same_clock(theirs_ns, offset_ns)) return;
    const int64_t moved_ns = has_offset_ ? std::abs(offset_ns - offset_ns_) : 0;
    clock_error_ns_ = (narrowest_ns + 1) / 2 + std::min(moved_ns, kMostDriftNs);
    offset_ns_ = offset_ns;
    looked_ns_ = trace_now_ns();
    has_offset_ = true;
}

void CuptiSession::read(std::vector<DeviceRecord>& records, bool all) {
    const size_t before = records.size();
    look_at_clock();
    // It waits for no device. What it cannot give now it gives later.
    library_.calls.cuptiActivityFlushAll(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    for (CompletedBuffer full = take_completed(); full.buffer != nullptr; full = take_completed()) {
        read_buffer(full.buffer, full.bytes, records);
        give_back(full.buffer);
    }
    const int64_t now_ns = trace_now_ns();
    for (size_t i = before; i < records.size(); ++i) records[i].read_ns = now_ns;
    size_t dropped = 0;
    if (library_.calls.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS)
        dropped_ += dropped;  // since it was asked last
}

void CuptiSession::read_buffer(const uint8_t* buffer, size_t bytes, std::vector<DeviceRecord>& records) {
    CUpti_Activity* record = nullptr;
    DeviceRecord read = {};
    // The library says where the next one is: a record of a version that is longer is no obstacle.
    while (library_.calls.cuptiActivityGetNextRecord(const_cast<uint8_t*>(buffer), bytes, &record) ==
           CUPTI_SUCCESS) {
        if (!read_record(*record, read)) continue;
        read.start_ns += offset_ns_;
        read.end_ns += offset_ns_;
        if (read.name != nullptr) read.name = read.node != 0 ? kept_name(read.name) : nullptr;
        records.push_back(read);
    }
}

// CUPTI's own is gone with its module, which may be before the record is written. Who asks for a name are
// rows of nodes only. Nodes of a set stay where they are.
const char* CuptiSession::kept_name(const char* name) {
    auto place = names_.find(name);
    if (place == names_.end() && names_.size() < kMostNames) place = names_.emplace(name).first;
    return place != names_.end() ? place->c_str() : nullptr;
}

}  // namespace gpushim::shim
