// CUPTI as this process can have it: the library that is loaded already, else the one beside other libraries
// of NVIDIA's Python packages, else the one that the dynamic linker finds by its name, else the toolkit's.
// The first that is there is taken, and none other tried: a second CUPTI in a process takes the first one's
// place. Never closed. The driver's thread (driver_thread.h): opening takes the loader's lock.
#pragma once

#include <string>
#include <vector>

#include "../timing/cupti_api.h"

namespace gpushim::shim {

#define GPUSHIM_CUPTI_CALLS(CALL)        \
    CALL(cuptiGetVersion)                \
    CALL(cuptiSubscribe)                 \
    CALL(cuptiUnsubscribe)               \
    CALL(cuptiGetCallbackName)           \
    CALL(cuptiEnableCallback)            \
    CALL(cuptiGetTimestamp)              \
    CALL(cuptiActivityRegisterCallbacks) \
    CALL(cuptiActivityEnable)            \
    CALL(cuptiActivityDisable)           \
    CALL(cuptiActivityFlushAll)          \
    CALL(cuptiActivityGetNextRecord)     \
    CALL(cuptiActivityGetNumDroppedRecords)
// Null where the library is too old for them.
#define GPUSHIM_CUPTI_NEWER_CALLS(CALL) CALL(cuptiSubscribe_v2)

struct CuptiCalls {
#define GPUSHIM_POINTER(name) decltype(&::name) name;
    GPUSHIM_CUPTI_CALLS(GPUSHIM_POINTER)
    GPUSHIM_CUPTI_NEWER_CALLS(GPUSHIM_POINTER)
#undef GPUSHIM_POINTER
};

struct CuptiLibrary {
    std::string path;        // empty: there is none
    const char* lacks = "";  // the first name that it does not have; empty: it has all
    uint32_t version = 0;    // CUPTI_API_VERSION; 0: it did not say
    CuptiCalls calls = {};
};
CuptiLibrary open_cupti();

// What is tried, in order, where none is loaded: names with a slash are files. `loaded`: paths of the objects
// in this process; `homes`: where toolkits may be (CUDA_HOME, CUDA_PATH, …). Pure.
std::vector<std::string> cupti_places(const std::vector<std::string>& loaded,
                                      const std::vector<std::string>& homes);

}  // namespace gpushim::shim
