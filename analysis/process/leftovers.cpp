#include "leftovers.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "library.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int kMostMs = 1000;

bool is_wanted() {
    const char* text = std::getenv("GPUSHIM_RECOVER");
    return text == nullptr || std::string_view(text) != "own";
}

// Without the library: most of the time there is nothing.
bool are_there_any() {
    std::error_code error;
    for (fs::directory_iterator entries("/dev/shm/gpushim-" + std::to_string(geteuid()), error), end;
         !error && entries != end; entries.increment(error))
        if (!entries->path().filename().string().starts_with('.')) return true;
    return false;
}

}  // namespace

void take_in_leftovers() {
    if (!is_wanted() || !are_there_any()) return;
    std::string why;
    const auto recover = library_function<int(int)>("gpushim_recover_leftovers", why);
    if (recover != nullptr) recover(kMostMs);
}

}  // namespace gpushim::analysis
