#include "new_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "../failure.h"
#include "boot.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kRandom = ".XXXXXX";
constexpr size_t kMachine = 8;  // characters
constexpr time_t kOldS = 24 * 3600;

// NAME.new.MACHINE.XXXXXX: a folder may be shared, and what one machine locks another may not see. The word
// tells boots of machines apart, not containers.
std::string machine() {
    const std::string id = boot_id();
    return id.size() >= kMachine ? id.substr(0, kMachine) : std::string(kMachine, '0');
}

struct Descriptor {
    ~Descriptor() {
        if (number >= 0) close(number);
    }
    int number;
};

// Not where somebody has it locked, nor, made on another machine, before it has not changed for a day. It is
// removed under its lock: a file that is just being made has none yet, and its maker looks.
void remove_if_left_behind(const fs::path& file, bool is_of_this_machine) {
    const Descriptor left{open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
    struct stat status;
    if (left.number < 0 || fstat(left.number, &status) != 0) return;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return;
    if (!is_of_this_machine && time(nullptr) - status.st_mtime < kOldS) return;
    if (flock(left.number, LOCK_EX | LOCK_NB) == 0) unlink(file.c_str());
}

// begin: "NAME.new". Older versions had no machine in the name.
void remove_left_behind(const fs::path& folder, const std::string& begin) {
    const std::string here = begin + "." + machine() + ".";
    std::error_code none;  // then nothing is removed
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder, none))
        if (std::string name = entry.path().filename().string(); name.starts_with(begin + "."))
            names.push_back(std::move(name));
    for (const std::string& name : names) {
        const bool has_none = name.size() == begin.size() + kRandom.size();
        if (has_none || name.size() == here.size() - 1 + kRandom.size())
            remove_if_left_behind(folder / name, has_none || name.starts_with(here));
    }
}

[[noreturn]] void fail(const fs::path& place, int error) {
    throw Unwritable(place.string() + ": " + std::strerror(error));
}

// Open and locked; where the file system has no locks, open.
std::string made_at(const std::string& begin, const fs::path& place, int& file) {
    for (;;) {
        std::string name = begin + "." + machine() + std::string(kRandom);
        file = mkostemp(name.data(), O_CLOEXEC);
        if (file < 0) fail(place, errno);
        struct stat status;
        const bool is_locked = flock(file, LOCK_EX) == 0;
        if (!is_locked || fstat(file, &status) != 0 || status.st_nlink > 0) return name;
        close(file);  // taken for one that was left behind
    }
}

}  // namespace

NewFile::NewFile(const fs::path& place) : place_(place) {
    if (is_no_place_for_a_file(place))
        throw Unwritable(place.string() + ": is a device, a pipe or a socket; a file is needed");
    std::error_code none;  // what cannot be made is told below
    const fs::path folder = fs::absolute(place, none).parent_path(), real = fs::canonical(folder, none);
    const fs::path in = none ? folder : real;
    const std::string name = place.filename().string() + ".new";
    remove_left_behind(in, name);
    made_.emplace([&] { return made_at((in / name).string(), place, locked_); });
}

NewFile::~NewFile() {
    made_.reset();  // first: what is not locked is removed by whoever comes
    close(locked_);
}

void NewFile::write(uint64_t at, std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t count = pwrite(locked_, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (count < 0 && errno == EINTR) continue;
        if (count == 0 || (count < 0 && errno == ENOSPC))
            throw Unwritable(place_.string() + ": database or disk is full");  // as SQLite says it
        if (count < 0) fail(place_, errno);
        bytes.remove_prefix(static_cast<size_t>(count));
        at += static_cast<uint64_t>(count);
    }
}

std::string NewFile::read(uint64_t at, size_t bytes) const {
    std::string all(bytes, '\0');
    for (size_t done = 0; done < bytes;) {
        const ssize_t count = pread(locked_, &all[done], bytes - done, static_cast<off_t>(at + done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) fail(place_, count < 0 ? errno : EIO);  // it is shorter
        done += static_cast<size_t>(count);
    }
    return all;
}

void NewFile::move_to_place() {
    std::error_code error;
    fs::rename(path(), place_, error);
    if (error) throw Unwritable(place_.string() + ": " + error.message());
}

bool is_no_place_for_a_file(const fs::path& place) {
    std::error_code none;
    // /dev/stdout is a link to what may be a file: that is written to, and the link is not replaced.
    const std::string folder = fs::canonical(fs::absolute(place, none).parent_path(), none).string();
    if (folder == "/dev" || folder == "/proc" || folder.starts_with("/proc/")) return true;
    const fs::file_status status = fs::status(place, none);
    return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace gpushim::analysis
