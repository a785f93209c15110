#include "settings_check.h"

#include <cstdio>
#include <cstdlib>

#include "../base/config.h"
#include "../base/unknown_settings.h"
#include "trace_path.h"

#define EXPORTED __attribute__((visibility("default")))

namespace gpushim::shim {
namespace {

constexpr const char* kPatterns[] = {"GPUSHIM_OUT", "GPUSHIM_METRICS"};

struct Listener {
    void (*say)(void* with, int is_name, const char* name, const char* said);
    void* with;
};

void check_pattern(const char* setting, const Listener& listener) {
    const char* pattern = getenv(setting);
    Config config = default_config();
    if (pattern == nullptr || !understand(config, setting, pattern)) return;
    char said[1200];
    if (const char* why = why_no_output(pattern); why != nullptr) {
        snprintf(said, sizeof said,
                 "=%s %s (wanted: a file, a folder, or a pattern of %%h %%p %%r %%l %%j %%q{VAR} %%%%)",
                 pattern, why);
        listener.say(listener.with, 0, setting, said);
    }
}

}  // namespace
}  // namespace gpushim::shim

using namespace gpushim::shim;

EXPORTED void gpushim_check_settings(void (*say)(void* with, int is_name, const char* name, const char* said),
                                     void* with) {
    Listener listener = {say, with};
    for (const SettingRow& row : settings()) {
        const char* text = getenv(row.name);
        char said[256];
        if (text != nullptr && is_misunderstood(row, text, said, sizeof said)) say(with, 0, row.name, said);
    }
    for (const char* setting : kPatterns) check_pattern(setting, listener);
    each_unknown_setting(
        [](void* to, const char* name, const char* said) {
            const auto& listening = *static_cast<Listener*>(to);
            listening.say(listening.with, 1, name, said);
        },
        &listener);
}
