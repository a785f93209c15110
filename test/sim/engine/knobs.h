// The box's settings, read from the environment once, at first use. Immutable afterwards; any thread.
// A value that cannot be understood ends the process with one line: a test box must not guess.
#pragma once

#include <cstdint>
#include <string>

namespace gpusim {

namespace knob {
using count = int64_t;
using real = double;
using text = std::string;
}  // namespace knob

struct Knobs {
#define KNOB(kind, member, variable, standard) knob::kind member = standard;
#include "knobs.def"
#undef KNOB
};

const Knobs& knobs();

// The rank that the launcher's environment gives this process; -1 where there is none.
int environment_rank();

// `%p` becomes the process id, `%r` the rank ("x" where unknown), `%%` a per cent sign.
std::string expand_pattern(const std::string& pattern);

}  // namespace gpusim
