#include "intern.h"

#include <mutex>
#include <string>
#include <unordered_set>

namespace gpusim {

const char* intern(std::string_view text) {
    static auto* const mutex = new std::mutex;
    static auto* const strings = new std::unordered_set<std::string>;
    const std::lock_guard guard(*mutex);
    return strings->emplace(text).first->c_str();
}

}  // namespace gpusim
