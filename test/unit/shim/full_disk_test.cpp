// A disk that is really full, of a file system of our own.
#include <sched.h>
#include <sys/mount.h>

#include <fstream>
#include <thread>

#include "optional.h"
#include "trace.h"

namespace full_disk_test {

using namespace trace;

namespace {

const std::string kPlace = std::filesystem::temp_directory_path();

// Over where traces are, for this process only.
bool mount_small_disk() {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("none", kPlace.c_str(), "tmpfs", 0, "size=2m") == 0;
}

void write_second(Events& events, int64_t second) {
    for (int64_t i = 0; i < 1000; ++i)
        events.call("cuLaunchKernel", second * 1'000'000'000 + i * 1000,
                    second * 1'000'000'000 + i * 1000 + 4, {0xf00, 0x5000, kGrid, kBlock});
}

}  // namespace

TEST_CASE("a disk that was full for a while costs no rows", "[full_disk]") {
    if (!mount_small_disk()) {
        lacks("namespaces");
        return;
    }
    for (const int64_t max_bytes : {int64_t{64} << 20, int64_t{0}}) {
        Trace trace(1, max_bytes);
        Events events;
        write_second(events, 1);
        trace.write(events);
        {
            std::ofstream other(kPlace + "/other");
            const std::string block(4096, 'x');
            while (other.write(block.data(), 4096).flush()) continue;
        }
        for (int64_t second = 2; second <= 4; ++second) write_second(events, second);
        for (int i = 0; i < 3; ++i) {
            CHECK_FALSE(events.write(trace.store()));
            CHECK(trace.store().why_not() == Drop::disk);
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }
        std::filesystem::remove(kPlace + "/other");
        bool written = false;
        for (int i = 0; i < 50 && !written; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            written = events.write(trace.store());
        }
        INFO(Store::failure());
        CHECK(written);
        CHECK(trace.ask("SELECT count(*) FROM launch") == "4000");
        CHECK(trace.ledger() == "4000|4000|0|0|0|0");
    }
}

}  // namespace full_disk_test
