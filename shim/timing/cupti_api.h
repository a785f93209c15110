// CUPTI's activity interface as its header declares it. Only types: the library is opened at run time
// (cupti_library.h), never linked.
#pragma once

#include "../calls/driver_api.h"  // before CUPTI's headers, which include cuda.h as well

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_result.h>
#include <cupti_version.h>
