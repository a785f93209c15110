// The exported functions, and the one subscriber.
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/call_faults.h"
#include "engine/hide_export.h"
#include "engine/knobs.h"
#include "engine/profile.h"
#include "records.h"

using namespace gpusim;

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback = nullptr;
    void* userdata = nullptr;
    std::string name;
};

namespace {

// Numbers of callbacks are rows of the driver's exports: whoever wants one asks for its name.
constexpr const char* kCalls[] = {
    "",
#define EXPORT(name, ...) #name,
#include "../exports.def"
#undef EXPORT
};
constexpr CUpti_CallbackId kMostCalls = sizeof kCalls / sizeof *kCalls;

struct Library {
    std::mutex mutex;
    CUpti_Subscriber_st one;
    std::atomic<bool> is_taken{false};
    std::atomic<bool> wanted[kMostCalls] = {};
    std::atomic<uint32_t> calls{0};
};

Library& library() {
    static Library* const made = new Library;
    return *made;
}

CUpti_CallbackId id_of(std::string_view call) {
    static const auto* const ids = [] {
        auto* made = new std::unordered_map<std::string_view, CUpti_CallbackId>;
        for (CUpti_CallbackId id = 1; id < kMostCalls; ++id) made->emplace(kCalls[id], id);
        return made;
    }();
    const auto found = ids->find(call);
    return found != ids->end() ? found->second : 0;
}

void tell(const char* call, uint32_t number, CUpti_ApiCallbackSite site) {
    Library& lib = library();
    if (!lib.is_taken.load(std::memory_order_acquire)) return;
    const CUpti_CallbackId id = id_of(call);
    if (!lib.wanted[id].load(std::memory_order_relaxed)) return;
    CUpti_CallbackData data = {};
    data.callbackSite = site;
    data.functionName = call;
    data.correlationId = number;
    lib.one.callback(lib.one.userdata, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

constexpr profile::Profiler kProfiler = {
    [](const char* call) {
        const uint32_t number = library().calls.fetch_add(1, std::memory_order_relaxed) + 1;
        tell(call, number, CUPTI_API_ENTER);
        return number;
    },
    [](const char* call, uint32_t number) {
        cupti::put_noted();
        if (std::string_view(call) == "cuModuleUnload") cupti::spoil_names();
        tell(call, number, CUPTI_API_EXIT);
    },
    cupti::note,
};

std::atomic<bool> has_ended{false};

// As NVIDIA's takes itself apart: whoever calls it then ends the process.
void must_be_there(const char* function) {
    if (!has_ended) return;
    std::fprintf(stderr, "box: %s after the library has ended\n", function);
    std::abort();
}

// A constructor registers it, as those of objects do: it runs before what was registered before the library
// was loaded.
__attribute__((constructor)) void end_at_exit() {
    std::atexit([] { has_ended = true; });
}

// The injected result of this call of `function`, else success.
CUptiResult injected(const char* function, std::atomic<uint64_t>& calls) {
    const InjectedFault fault = injected_fault(function);
    return fault.due(calls.fetch_add(1) + 1) ? static_cast<CUptiResult>(fault.error) : CUPTI_SUCCESS;
}
#define MAY_FAIL                                              \
    do {                                                      \
        must_be_there(__func__);                              \
        static std::atomic<uint64_t> calls{0};                \
        const CUptiResult failed = injected(__func__, calls); \
        if (failed != CUPTI_SUCCESS) return failed;           \
    } while (false)

__attribute__((constructor)) void take_away_missing_names() {
    const std::string& missing = knobs().missing;
    for (size_t from = 0; from < missing.size();) {
        const size_t until = std::min(missing.find(',', from), missing.size());
        const std::string name = missing.substr(from, until - from);
        if (name.rfind("cupti", 0) == 0) hide_export(reinterpret_cast<const void*>(&kCalls), name.c_str());
        from = until + 1;
    }
}

CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
                      const char* name, char* holder, size_t holder_bytes) {
    if (subscriber == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    Library& lib = library();
    const std::lock_guard guard(lib.mutex);
    if (lib.is_taken) {
        if (holder != nullptr && holder_bytes != 0) {
            std::strncpy(holder, lib.one.name.c_str(), holder_bytes - 1);
            holder[holder_bytes - 1] = '\0';
        }
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    lib.one = {callback, userdata, "CUPTI for " + std::string(name)};
    *subscriber = &lib.one;
    lib.is_taken = true;
    profile::attach(kProfiler);
    return CUPTI_SUCCESS;
}

}  // namespace

CUptiResult cuptiGetVersion(uint32_t* version) {
    MAY_FAIL;
    *version = static_cast<uint32_t>(knobs().cupti_version);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
    MAY_FAIL;
    return subscribe(subscriber, callback, userdata, "an unnamed tool", nullptr, 0);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
                              CUpti_SubscriberParams* params) {
    MAY_FAIL;
    const bool is_named = params != nullptr && params->subscriberName != nullptr;
    return subscribe(subscriber, callback, userdata, is_named ? params->subscriberName : "an unnamed tool",
                     params != nullptr ? params->oldSubscriberName : nullptr,
                     params != nullptr ? params->oldSubscriberSize : 0);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
    MAY_FAIL;
    Library& lib = library();
    const std::lock_guard guard(lib.mutex);
    if (subscriber != &lib.one || !lib.is_taken) return CUPTI_ERROR_INVALID_PARAMETER;
    for (auto& wanted : lib.wanted) wanted = false;
    lib.is_taken = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
    must_be_there(__func__);
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id == 0 || id >= kMostCalls)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = kCalls[id];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    MAY_FAIL;
    Library& lib = library();
    if (subscriber != &lib.one || domain != CUPTI_CB_DOMAIN_DRIVER_API || id == 0 || id >= kMostCalls)
        return CUPTI_ERROR_INVALID_PARAMETER;
    lib.wanted[id] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
    must_be_there(__func__);
    *timestamp = cupti::timestamp();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
    MAY_FAIL;
    if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    cupti::set_timestamp(timestamp);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
    MAY_FAIL;
    if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    cupti::set_buffers(request, complete);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
    MAY_FAIL;
    if (!cupti::can_record(kind)) return CUPTI_ERROR_INVALID_KIND;
    cupti::record_kind(kind, true);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
    must_be_there(__func__);
    if (!cupti::can_record(kind)) return CUPTI_ERROR_INVALID_KIND;
    cupti::record_kind(kind, false);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
    MAY_FAIL;
    cupti::flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
    must_be_there(__func__);
    *record = cupti::next_record(buffer, bytes, *record);
    return *record != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
    must_be_there(__func__);
    *dropped = cupti::take_dropped();
    return CUPTI_SUCCESS;
}
