// Frames of threads that wait, from their stack pointer and their place alone.
#include "shim/alarm/native_stack.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "optional.h"
#include "shim/alarm/frame_rules.h"
#include "shim/alarm/stuck_thread.h"
#include "shim/machine/proc_thread.h"

namespace native_stack_test {

using namespace gpushim::shim;

namespace {

// A thread that waits until it is destroyed, inside of `outer`, which is called with so many bytes of stack.
class Waiting {
  public:
    explicit Waiting(size_t bytes) {
        thread_ = std::thread([this, bytes] {
            tid_ = static_cast<int32_t>(syscall(SYS_gettid));
            outer(bytes);
        });
        char text[1024];
        while (tid_ == 0 || !is_asleep(read_of_thread(tid_, "syscall", text))) std::this_thread::yield();
    }
    ~Waiting() {
        {
            const std::lock_guard guard(lock_);
            is_over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Where where() const {
        char text[1024];
        return parse_where(read_of_thread(tid_, "syscall", text));
    }
    NativeStack stack() const {
        const Where at = where();
        return native_stack(MemoryMap::of_this_process(), at.stack_pointer, at.place);
    }
    // Return addresses of both, as they saw them themselves.
    uint64_t in_outer() const { return in_outer_; }
    uint64_t in_thread() const { return in_thread_; }

  private:
    static bool is_asleep(std::string_view syscall) {
        const auto in = parse_syscall(syscall);
        return in && !in->running && in->number == SYS_futex;
    }
    [[gnu::noinline]] void outer(size_t bytes) {
        // Its frame has no fixed size, so it is found by a frame pointer.
        auto* const room = static_cast<volatile char*>(__builtin_alloca(bytes));
        room[0] = 1;
        in_thread_ = reinterpret_cast<uint64_t>(__builtin_return_address(0));
        inner();
        room[bytes - 1] = 2;
    }
    [[gnu::noinline]] void inner() {
        in_outer_ = reinterpret_cast<uint64_t>(__builtin_return_address(0));
        std::unique_lock guard(lock_);
        changed_.wait(guard, [this] { return is_over_; });
    }

    std::mutex lock_;
    std::condition_variable changed_;
    bool is_over_ = false;
    std::atomic<int32_t> tid_ = 0;
    std::atomic<uint64_t> in_outer_ = 0, in_thread_ = 0;
    std::thread thread_;
};

}  // namespace

// Under qemu a thread's registers are the emulator's.
TEST_CASE("all frames of a thread that waits are told", "[hang][no_emulator]") {
    if (access("/proc/self/syscall", R_OK) != 0) {
        lacks("proc_syscall");
        return;
    }
    for (const size_t bytes : {64U, 5000U}) {
        const Waiting waiting(bytes);
        const NativeStack stack = waiting.stack();
        const auto at = [&](uint64_t place) { return std::ranges::find(stack.places, place); };
        REQUIRE(at(waiting.in_outer()) != stack.places.end());
        REQUIRE(at(waiting.in_thread()) != stack.places.end());
        CHECK(at(waiting.in_outer()) < at(waiting.in_thread()));
        CHECK(stack.places.front() == waiting.where().place);
        CHECK(stack.is_whole);
    }
}

TEST_CASE("a stack that is none, and places without rules, end the list", "[hang]") {
    const MemoryMap map = MemoryMap::of_this_process();
    const auto here = reinterpret_cast<uint64_t>(__builtin_return_address(0));
    for (const uint64_t stack_pointer : {uint64_t{0}, uint64_t{8}, ~uint64_t{0} - 7, uint64_t{1} << 46}) {
        const NativeStack stack = native_stack(map, stack_pointer, here);
        CHECK(stack.places.front() == here);
        CHECK(stack.places.size() <= 2);
        CHECK_FALSE(stack.is_whole);
    }
    static int data = 0;
    const auto at_data = reinterpret_cast<uint64_t>(&data);
    CHECK_FALSE(frame_rule(map, at_data));
    CHECK(native_stack(map, at_data, at_data).places == std::vector{at_data});
    for (const uint64_t place : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
        CHECK_FALSE(frame_rule(map, place));
        CHECK(native_stack(map, at_data, place).places.empty());
    }
}

TEST_CASE("every function that has rules has them at each of its places", "[hang][no_emulator]") {
    const MemoryMap map = MemoryMap::of_this_process();
    // A page of the C library's code, not of the program's way to it, which has no rules on every processor:
    // what has a rule has a frame that lies above the stack pointer.
    const auto from = reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, "qsort"));
    REQUIRE(from != 0);
    size_t rules = 0;
    for (uint64_t place = from; place < from + 4096; ++place)
        if (const auto rule = frame_rule(map, place)) {
            ++rules;
            CHECK(rule->cfa_register < kFrameRegisters);
            CHECK(rule->cfa_offset >= 0);
            CHECK(rule->return_register < kFrameRegisters);
        }
    CHECK(rules > 2000);
}

TEST_CASE("an address is of a file, at an offset in it", "[hang]") {
    MemoryMap map;
    map.add("7f31c8a00000-7f31c8a26000 r--p 00000000 fe:01 1234       /lib/libc.so.6\n");
    map.add("7f31c8a26000-7f31c8b00000 r-xp 00026000 fe:01 1234       /lib/libc.so.6\n");
    map.add("nonsense");
    map.add("7f31c8b00000-7f31c8b01000 rw-p 00000000 00:00 0 ");
    CHECK(map.place(0x7f31c8a26010) == "libc.so.6+0x26010");
    CHECK(map.place(0x7f31c8b00800) == "(no file)+0x800");
    CHECK(map.place(0x7f31c8b01000).empty());
    REQUIRE(map.at(0x7f31c8a26010) != nullptr);
    CHECK(map.at(0x7f31c8a26010)->runs);
    CHECK(map.begin_of(*map.at(0x7f31c8a26010))->from == 0x7f31c8a00000);
    CHECK(map.begin_of(*map.at(0x7f31c8b00800)) == nullptr);
}

}  // namespace native_stack_test
