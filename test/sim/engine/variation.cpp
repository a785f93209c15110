#include "variation.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "box_state.h"
#include "heat.h"
#include "knobs.h"

namespace gpusim {
namespace {

constexpr double kMemory = 0.9;  // how much of one operation's deviation the next one keeps

struct Slow {
    int rank = -1;
    double factor = 1;
};

Slow read_slow() {
    Slow slow;
    const auto& text = knobs().slow;
    if (!text.empty() && std::sscanf(text.c_str(), "%d:%lf", &slow.rank, &slow.factor) != 2) {
        std::fprintf(stderr, "gpusim: GPUSIM_SLOW=%s is not <rank>:<factor>\n", text.c_str());
        std::_Exit(2);
    }
    return slow;
}

// One process with several devices and no launcher is as many ranks as it has devices.
double slowness(int device) {
    static const Slow slow = read_slow();
    static const int rank = environment_rank();
    return (rank >= 0 ? rank : device) == slow.rank ? slow.factor : 1.0;
}

// Box-Muller on the raw generator: std::normal_distribution differs between standard libraries.
class Noise {
  public:
    void seed(uint64_t number) { random_.seed(number); }
    double next() {
        const double u = (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;
        const double v = static_cast<double>(random_() >> 11) * 0x1p-53;
        const double fresh = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * 3.14159265358979323846 * v);
        return state_ = kMemory * state_ + std::sqrt(1.0 - kMemory * kMemory) * fresh;
    }

  private:
    std::mt19937_64 random_;
    double state_ = 0;
};

double jitter(int device) {
    static auto* const noise = [] {
        auto* made = new Noise[kMaxDevices];
        const int rank = environment_rank();
        for (uint64_t d = 0; d < kMaxDevices; ++d)
            made[d].seed(static_cast<uint64_t>(knobs().seed) * 1000003 +
                         static_cast<uint64_t>(rank + 1) * 257 + d);
        return made;
    }();
    const double share = knobs().jitter;
    return share > 0 ? std::exp(share * noise[device].next()) : 1.0;
}

Ns scaled(Ns ns, double factor) { return static_cast<Ns>(std::llround(static_cast<double>(ns) * factor)); }

}  // namespace

Ns vary_kernel(Ns ns, int device) {
    const double factor = jitter(device) * slowness(device) * heat_factor(device);
    return factor == 1.0 ? ns : scaled(ns, factor);
}

Ns vary_copy(Ns ns, int device) {
    const double factor = jitter(device);
    return factor == 1.0 ? ns : scaled(ns, factor);
}

}  // namespace gpusim
