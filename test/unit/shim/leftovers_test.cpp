#include "shim/writer/leftovers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "other_process.h"
#include "ring_root.h"
#include "shim/ring/ring_folder.h"
#include "shim/ring/ring_format.h"
#include "shim/writer/mapped_rings.h"

namespace leftovers_test {

using namespace gpushim;
using namespace gpushim::shim;
namespace fs = std::filesystem;

namespace {

struct Rings : RingRoot {
    Rings()
        : user_folder(open_user_folder(path.c_str(), true)),
          trace(open_trace_folder(user_folder, kRingsUuid, true)) {}
    ~Rings() {
        close(trace);
        close(user_folder);
    }
    int user_folder, trace;
};

void make_older(const fs::path& path, int hours) {
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= hours * 3600;
    times[1] = times[0];
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

// As a process makes it.
RingHeader* map_ring(int folder, uint64_t id) {
    char name[kRingNameBytes];
    ring_name(name, id);
    const int file = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, kSlotsOffset) != 0) _exit(2);
    void* const memory = mmap(nullptr, kSlotsOffset, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) _exit(3);
    auto* const header = static_cast<RingHeader*>(memory);
    header->magic = kRingMagic;
    header->version = kRingVersion;
    header->pid = getpid();
    return header;
}

}  // namespace

TEST_CASE("only what is dead for more than a day is removed", "[folder]") {
    const Rings root;
    const int user = root.user_folder;
    const uint8_t young[16] = {1};
    const uint8_t old[16] = {2};
    const uint8_t old_but_alive[16] = {3};
    char name[33];
    for (const auto* uuid : {&young, &old, &old_but_alive}) {
        close(open_trace_folder(user, *uuid, true));
        trace_folder_name(name, *uuid);
        std::ofstream(root.user / name / "ring-1") << "x";
    }
    const int alive = open_trace_folder(user, old_but_alive, false);
    OtherProcess other([&] { lock_trace_folder(alive); });
    trace_folder_name(name, young);
    make_older(root.user / name, 23);
    const fs::path kept = root.user / name;
    trace_folder_name(name, old);
    make_older(root.user / name, 25);
    const fs::path removed = root.user / name;
    trace_folder_name(name, old_but_alive);
    make_older(root.user / name, 25);
    remove_old_folders(user, {});
    CHECK(fs::exists(kept));
    CHECK(!fs::exists(removed));
    CHECK(fs::exists(root.user / name));
}

TEST_CASE("who has its rings mapped is alive, whatever became of its lock", "[leftovers]") {
    const Rings root;
    pid_t pid = 0;
    const auto is_left = [&] { return !leftovers_in(root.user_folder, {}).empty(); };
    {
        const OtherProcess other([&] { map_ring(root.trace, 0); });
        pid = other.pid();
        CHECK(!is_held(root.trace));
        CHECK(is_in_use(root.trace, kRingsName));
        CHECK(has_rings_mapped(pid, kRingsName));
        CHECK(!has_rings_mapped(pid, "another trace's"));
        CHECK(!has_rings_mapped(getpid(), kRingsName));
        CHECK(!is_left());
        make_older(root.user / kRingsName, 25);
        remove_old_folders(root.user_folder, {});
        CHECK(faccessat(root.user_folder, kRingsName, F_OK, 0) == 0);
    }
    CHECK(!has_rings_mapped(pid, kRingsName));
    CHECK(!is_in_use(root.trace, kRingsName));
    CHECK(is_left());
}

TEST_CASE("a process whose first thread has ended is alive", "[leftovers]") {
    const Rings root;
    const auto work = [&] {
        map_ring(root.trace, 0);
        std::thread([] {
            for (;;) pause();
        }).detach();
        syscall(SYS_exit, 0);
    };
    const OtherProcess other(work, OtherProcess::Wait::no);
    const fs::path own_maps = "/proc/" + std::to_string(other.pid()) + "/maps";
    const auto is_over = [&] { return std::ifstream(own_maps).peek() == std::ifstream::traits_type::eof(); };
    while (!is_over()) usleep(1000);
    CHECK(has_rings_mapped(other.pid(), kRingsName));
}

TEST_CASE("a name is found wherever the kernel's parts of the list end", "[leftovers]") {
    const Rings root;
    const OtherProcess other([&] {
        for (int i = 0; i < 500; ++i)  // each a line of its own
            if (mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                MAP_FAILED)
                _exit(4);
        for (uint64_t id = 0; id < 50; ++id) map_ring(root.trace, id);
    });
    CHECK(has_rings_mapped(other.pid(), kRingsName));
    CHECK(!has_rings_mapped(other.pid(), "0a1b02030405060708090a0b0c0d0efe"));
}

}  // namespace leftovers_test
