// CUPTI's activity interface as its header declares it. Only types: the library is opened at run time
// (cupti_library.h), never linked.
#pragma once

#include "hooks/driver_api.h"

// The header's own doubtful corners are not ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_result.h>
#include <cupti_version.h>
#pragma GCC diagnostic pop
