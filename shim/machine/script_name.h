// What people call a program that an interpreter runs: of `python -u jobs/train.py --lr 1` it is "train.py",
// of `python -m torch.distributed.run …` the module. Pure, but for script_name(); any thread.
#pragma once

#include <string_view>

namespace gpushim::shim {

// Of the arguments as /proc/self/cmdline has them, each with a NUL behind it. Empty where there is none: no
// Python, or a command on its own line (-c), or from stdin.
std::string_view script_in(std::string_view executable, std::string_view arguments);

// Of this process; the name of its file, no folder. `to` holds it.
std::string_view script_name(std::string_view executable, char (&to)[4096]);

}  // namespace gpushim::shim
