#include "stamp_gaps.h"

namespace gpushim::shim {
namespace {

struct Calibrated {
    std::string_view name;
    StampGaps gaps;
};

constexpr Calibrated kCalibrated[] = {
#define CALIBRATED(name, before, before_high, after, after_high) \
    {name, {before, before_high, after, after_high, true}},
#include "calibrated.def"
#undef CALIBRATED
};

// 0.7 to 1.5 us are what others have seen on several devices.
constexpr StampGaps kUnknown = {700, 1'500, 700, 1'500, false};

}  // namespace

StampGaps stamp_gaps_of(std::string_view device_name, const StampGapsSetting& given) {
    if (given.is_given)
        return {given.before_ns, given.before_high_ns, given.after_ns, given.after_high_ns, true};
    for (const Calibrated& one : kCalibrated)
        if (device_name.starts_with(one.name)) return one.gaps;
    return kUnknown;
}

}  // namespace gpushim::shim
