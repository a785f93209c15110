// From values to places in a drawing, and the round values that an axis is marked at.
//
//   values    2.1 ─────────────── 7.9        logarithmic: as far from 1 to 10 as from 10 to 100
//   marks          4      6
//   places    60 ──────────────── 740
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace gpushim::analysis {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // of a value: nothing is drawn

// The smallest and the largest of the values; those that are unknown do not count.
struct Extent {
    double low = std::numeric_limits<double>::infinity(), high = -low;

    void take(double value);
    bool is_empty() const { return low > high; }
};

struct Scale {
    double low, high;   // values
    double begin, end;  // their places
    bool logarithmic = false;
    bool binary = false;  // round are powers of two
    bool whole = false;   // marks are whole numbers

    double place(double value) const;  // of those beyond: that of low or high
    std::vector<double> marks(size_t about) const;
};

// Of these values, with room around them; never empty. 0 belongs to it where that is asked, but not on a
// logarithmic one.
Scale scale_of(Extent values, double begin, double end, bool with_zero, bool logarithmic);

}  // namespace gpushim::analysis
