#include "values.h"

#include "condition.h"
#include "device.h"
#include "engine/device_facts.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

template <class Function>
struct Answer;
template <class Out>
struct Answer<nvmlReturn_t(nvmlDevice_t, Out*)> {
    using type = Out;
};

}  // namespace

#define VALUE(function, expression)                                                        \
    IMPLEMENT(function)(nvmlDevice_t handle, Answer<decltype(::function)>::type * out) {   \
        return answer(handle, out, [](int device) { return (void)device, (expression); }); \
    }
#include "values.def"
#undef VALUE
