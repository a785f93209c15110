// Whether a preload reaches a program at all, as far as its file says.
#pragma once

#include <string>

namespace gpushim::analysis {

// As a shell would look for it. Empty: it is not there.
std::string found_on_path(const std::string& name);

struct Reach {
    bool reached;
    std::string text;  // "PATH is linked statically: no preload reaches it"
};
Reach reach_of(const std::string& path);

}  // namespace gpushim::analysis
