#include "own_variables.h"

#include <unistd.h>

#include <cstring>

namespace gpushim::shim {
namespace {

constexpr size_t kMostVariables = 8192;
constexpr size_t kMostOwn = 2;

constinit char* variables[kMostVariables + kMostOwn + 1] = {};

}  // namespace

char** find_variable(const char* name, size_t length) {
    if (environ == nullptr) return nullptr;
    for (char** place = environ; *place != nullptr; ++place)
        if (strncmp(*place, name, length) == 0) return place;
    return nullptr;
}

bool add_variable(char* entry) {
    if (environ == nullptr) return false;
    size_t count = 0;
    while (environ[count] != nullptr) ++count;
    if (count + 2 > sizeof variables / sizeof *variables) return false;
    if (environ != variables) memcpy(variables, environ, count * sizeof *variables);
    variables[count] = entry;
    variables[count + 1] = nullptr;
    environ = variables;
    return true;
}

}  // namespace gpushim::shim
