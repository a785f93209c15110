// What is drawn in which colour in timelines: kernels by their family, and all else by what it is.
#pragma once

#include <string>
#include <vector>

#include "../chart/timeline_chart.h"
#include "../kernel/kernel_class.h"

namespace gpushim::analysis {

// Of the style sheet.
enum class TimelineColour : size_t {
    gemm = 0,
    to_device = 1,
    to_host = 2,
    wait = 3,
    peer = 4,
    collective = 5,
    attention = 6,
    other = 7,
    elementwise = 8,
    reduction = 9,
    convolution = 10,
    memory = 11,
    graph = 12,
    range = 13
};

TimelineColour colour_of(KernelGroup group);
std::vector<LegendEntry> timeline_colours();

}  // namespace gpushim::analysis
