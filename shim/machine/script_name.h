// What people call a program that an interpreter runs: of `python -u jobs/train.py --lr 1` it is "train.py",
// of `python -m torch.distributed.run …` the module.
#pragma once

#include <span>
#include <string_view>

namespace gpushim::shim {

// The program's arguments, as the loader gives them to a constructor: nothing is opened for them. They are
// read later, where they stand. Once, before any other thread.
void remember_arguments(int count, const char* const* words);

// Pure. Empty where there is no name: no Python, or a command on its own line (-c), or from stdin.
std::string_view script_in(std::string_view executable, std::span<const char* const> arguments);

// Of this process: the name of its file, without the folder. Any thread.
std::string_view script_name(std::string_view executable);

}  // namespace gpushim::shim
