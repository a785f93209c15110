// What is wrong with the GPUSHIM_* variables of this process's environment, which a program started from here
// will have. The library says so, by the tables that it reads them with.
#pragma once

#include <string>
#include <vector>

namespace gpushim::analysis {

struct SettingComplaint {
    bool is_name;  // there is no such variable; else its value is wrong
    std::string name;
    std::string said;  // "=5 is not understood (wanted: …)", to stand behind a name
};

std::vector<SettingComplaint> setting_complaints();  // none where the library does not tell

}  // namespace gpushim::analysis
