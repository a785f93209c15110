#include "target.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "analysis/failure.h"

namespace fuzz {

namespace {

namespace fs = std::filesystem;

std::vector<Target>& registered() {
    static std::vector<Target> all;
    return all;
}

// Memory, where there is such a folder: files are written a thousand times a second.
fs::path fast_folder() {
    std::string name = fs::exists("/dev/shm") ? "/dev/shm/gpushim-fuzz-XXXXXX" : "gpushim-fuzz-XXXXXX";
    require(mkdtemp(name.data()) != nullptr, "no folder to be had");
    return name;
}

}  // namespace

Registration::Registration(const Target& target) { registered().push_back(target); }

std::span<const Target> targets() { return registered(); }

const Target& target_named(std::string_view name) {
    for (const Target& target : registered())
        if (target.name == name) return target;
    wrong("there is no such target");
}

void wrong(std::string_view what) {
    std::fprintf(stderr, "WRONG: %.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
}

InputFile::InputFile(const char* name) : path_((fast_folder() / name).string()) {}

InputFile::~InputFile() {
    std::error_code ignored;  // what is left there harms nobody
    fs::remove_all(folder(), ignored);
}

void InputFile::write(std::string_view bytes) const {
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(file >= 0, "cannot make the input");
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t more = ::write(file, bytes.data() + done, bytes.size() - done);
        require(more > 0, "cannot write the input");
        done += static_cast<size_t>(more);
    }
    close(file);
}

void may_fail(const std::string& file, void (*work)(const std::string& file)) {
    try {
        work(file);
    } catch (const gpushim::analysis::Failure& failure) {
        const std::string name = fs::path(file).filename().string();
        // Whoever is left out was named on stderr before.
        const std::string_view what = failure.what();
        if (what.find(name) == what.npos && what != "nothing to import in these files")
            wrong(std::string("a message that does not name the file: ") + failure.what());
    }
}

}  // namespace fuzz
