#include "api.h"

namespace gpushim::shim {
namespace {

using namespace traits;

constexpr size_t kNameBytes = 64;

struct Name {
    char text[kNameBytes];
};

constexpr bool is_version(const char* text, size_t length) {
    return length == 3 && text[0] == '_' && text[1] == 'v' && text[2] >= '2' && text[2] <= '9';
}

// Of "cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD".
constexpr Name base_of(const char* name, uint32_t traits) {
    size_t length = 0;
    while (name[length] != '\0') ++length;
    if ((traits & per_thread) != 0) length -= 5;
    if (is_version(name + length - 3, 3)) length -= 3;
    Name base = {};
    for (size_t i = 0; i < length; ++i) base.text[i] = name[i];
    return base;
}

#define HOOK(export, version, kind, traits, ...) \
    constexpr Name base_##export = base_of(#export, static_cast<uint32_t>(traits));
#include "all.def"

}  // namespace

const ApiTraits api_traits[kApis] = {
#define HOOK(export, version, kind, traits, ...) \
    {#export, base_##export.text, EventKind::kind, #kind, static_cast<uint32_t>(traits), version},
#include "all.def"
};

}  // namespace gpushim::shim
