#include "recovery.h"

#include <cstdio>

#include "../process/library.h"
#include "../terminal/progress.h"
#include "../terminal/stderr_line.h"
#include "inputs.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

using RecoverIn = int(const char*);
using RecoverCopy = int(const char*, const char*);
using WhyNot = const char*();

constexpr const char* kWhat = "not everything is recovered: ";

}  // namespace

Recovery::Recovery(std::span<const std::string> traces_or_folders) {
    std::string why;
    const auto recover_in = library_function<RecoverIn>("gpushim_recover", why);
    if (recover_in == nullptr) {
        failures_.push_back(why);
        stderr_line(kWhat + why);
        return;
    }
    const Progress recovering("recovering what killed processes left");
    for (const std::string& word : traces_or_folders) {
        if (recover_in(word.c_str()) == 0) continue;
        if (!fs::is_directory(word)) {
            copy(word);
        } else {
            for (const fs::path& trace : databases_in(word)) copy(trace);
        }
    }
    tell_few(kWhat, failures_);
}

void Recovery::copy(const fs::path& trace) {
    std::string why;
    const auto recover_copy = library_function<RecoverCopy>("gpushim_recover_copy", why);
    const auto why_not = library_function<WhyNot>("gpushim_recovery_failure", why);
    if (!folder_) folder_ = std::make_unique<TemporaryFolder>();
    const fs::path to = folder_->path() / (std::to_string(copies_.size() + failures_.size()) + ".db");
    if (recover_copy != nullptr && recover_copy(trace.c_str(), to.c_str()) == 0) {
        copies_[trace] = to;
        return;
    }
    failures_.push_back(recover_copy != nullptr && why_not != nullptr ? why_not() : why);
}

fs::path Recovery::file_of(const fs::path& trace) const {
    const auto found = copies_.find(trace);
    return found == copies_.end() ? trace : found->second;
}

}  // namespace gpushim::analysis
