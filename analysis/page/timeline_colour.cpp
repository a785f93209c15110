#include "timeline_colour.h"

namespace gpushim::analysis {

namespace {

using enum TimelineColour;

struct ColourRow {
    TimelineColour colour;
    const char* words;
};
// In the order of the legend.
constexpr ColourRow kColoursByUse[] = {
    {gemm, "matrix product"},
    {convolution, "convolution"},
    {attention, "attention"},
    {elementwise, "elementwise, optimizer"},
    {reduction, "reduction, normalisation"},
    {collective, "collective"},
    {peer, "wait for other ranks"},
    {memory, "data moved or set on the device"},
    {to_device, "copy to the device"},
    {to_host, "copy to the host"},
    {graph, "graph as a whole"},
    {wait, "wait of a thread"},
    {range, "range of the program"},
    {other, "other"},
};

}  // namespace

TimelineColour colour_of(KernelGroup group) {
    switch (group) {
        case KernelGroup::gemm:
            return gemm;
        case KernelGroup::convolution:
            return convolution;
        case KernelGroup::attention:
            return attention;
        case KernelGroup::elementwise:
            return elementwise;
        case KernelGroup::reduction:
            return reduction;
        case KernelGroup::comm:
            return collective;
        case KernelGroup::memory:
            return memory;
        default:
            return other;
    }
}

std::vector<LegendEntry> timeline_colours() {
    std::vector<LegendEntry> legend;
    for (const ColourRow& row : kColoursByUse) legend.push_back({row.words, static_cast<size_t>(row.colour)});
    return legend;
}

}  // namespace gpushim::analysis
