#include "settings.h"

#include "library.h"

namespace gpushim::analysis {

namespace {

using Say = void(void* with, int is_name, const char* name, const char* said);

}  // namespace

std::vector<SettingComplaint> setting_complaints() {
    std::vector<SettingComplaint> all;
    std::string why;
    const auto check = library_function<void(Say*, void*)>("gpushim_check_settings", why);
    if (check == nullptr) return all;
    check(
        [](void* with, int is_name, const char* name, const char* said) {
            static_cast<std::vector<SettingComplaint>*>(with)->push_back({is_name != 0, name, said});
        },
        &all);
    return all;
}

}  // namespace gpushim::analysis
