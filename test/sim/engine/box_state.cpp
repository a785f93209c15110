#include "box_state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "knobs.h"

namespace gpusim::box {
namespace {

struct Shared {
    std::atomic<uint32_t> bell;
    ProcessUse process[kMaxProcesses];
};

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::_Exit(2);
}

Shared* map_shared() {
    const std::string path = "/dev/shm/gpusim-" + std::to_string(getuid()) + "-" + knobs().box + ".box" +
                             std::to_string(sizeof(Shared));
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) give_up(("gpusim: " + path).c_str());
    if (ftruncate(fd, sizeof(Shared)) != 0) give_up(("gpusim: " + path).c_str());
    void* at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) give_up(("gpusim: " + path).c_str());
    close(fd);
    return static_cast<Shared*>(at);
}

Shared& shared() {
    static Shared* const mapped = map_shared();
    return *mapped;
}

int64_t start_ticks(int pid) {
    char text[1024];
    // Of the first thread: an emulator (qemu-user) makes up what a process reads of itself.
    const std::string id = std::to_string(pid);
    const int fd = open(("/proc/" + id + "/task/" + id + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char* after_name = std::string_view(text).rfind(')') == std::string_view::npos
                                 ? nullptr
                                 : text + std::string_view(text).rfind(')');
    if (after_name == nullptr) return 0;
    long long ticks = 0;
    std::sscanf(after_name,
                ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld", &ticks);
    return ticks;
}

bool alive(const ProcessUse& process) {
    const int pid = process.pid.load(std::memory_order_acquire);
    if (pid <= 0) return false;
    if (pid == getpid()) return true;
    return kill(pid, 0) == 0 && start_ticks(pid) == process.start_ticks.load(std::memory_order_relaxed);
}

// Only counters stay. The part is ours alone by now, so the order of the stores does not matter.
void clear(ProcessUse& process) {
    const auto zero = [](std::atomic<int64_t>& number) { number.store(0, std::memory_order_relaxed); };
    zero(process.now_ns);
    for (DeviceUse& use : process.device) {
        zero(use.memory_bytes);
        for (auto& until : use.busy_until_ns) zero(until);
        for (int bin = 0; bin < 2 * kBins; ++bin) {
            zero(use.bin_number[bin / kBins][bin % kBins]);
            zero(use.bin_busy_ns[bin / kBins][bin % kBins]);
        }
    }
}

ProcessUse* claim() {
    const int pid = getpid();
    for (ProcessUse& process : shared().process) {
        int seen = process.pid.load();
        if (seen < 0 || alive(process)) continue;
        if (!process.pid.compare_exchange_strong(seen, -pid)) continue;  // negative: being set up
        clear(process);
        process.start_ticks = start_ticks(pid);
        process.pid.store(pid, std::memory_order_release);
        return &process;
    }
    std::fprintf(stderr, "gpusim: more than %d processes on one box\n", kMaxProcesses);
    std::_Exit(2);
}

// A part that a process left behind in the middle of `claim` stays negative: its pid tells when it is free.
// A part with our own pid was this process's before it replaced its program.
void free_abandoned() {
    for (ProcessUse& process : shared().process) {
        int seen = process.pid.load();
        const bool abandoned = seen < 0 && kill(-seen, 0) != 0 && errno == ESRCH;
        if (abandoned || seen == getpid()) process.pid.compare_exchange_strong(seen, 0);
    }
}

ProcessUse* my_part = nullptr;

ProcessUse* join() {
    free_abandoned();
    my_part = claim();
    std::atexit([] {
        int owner = getpid();  // not this process's, if it is a fork
        my_part->pid.compare_exchange_strong(owner, 0);
    });
    return my_part;
}

DeviceUse& my_device(int device) { return mine().device[device]; }

void add_to_bin(DeviceUse& use, int engine, Ns start, Ns end) {
    while (start < end) {
        const Ns number = start / kBinNs;
        const Ns piece_end = std::min(end, (number + 1) * kBinNs);
        const auto bin = static_cast<size_t>(number % kBins);
        if (use.bin_number[engine][bin].exchange(number) != number) use.bin_busy_ns[engine][bin] = 0;
        use.bin_busy_ns[engine][bin] += piece_end - start;
        start = piece_end;
    }
}

Ns busy_in_bins(const DeviceUse& use, int engine, Ns first, Ns last) {
    Ns sum = 0;
    for (int bin = 0; bin < kBins; ++bin) {
        const Ns number = use.bin_number[engine][bin].load(std::memory_order_relaxed);
        if (number >= first && number <= last)
            sum += use.bin_busy_ns[engine][bin].load(std::memory_order_relaxed);
    }
    return sum;
}

// Of parts that no process ever had, only the head is looked at: reading a page of the file makes it.
template <class Number>
int64_t sum_ever(int device, Number number) {
    int64_t sum = 0;
    for (const ProcessUse& process : shared().process)
        if (process.start_ticks.load(std::memory_order_relaxed) != 0) sum += number(process.device[device]);
    return sum;
}

}  // namespace

ProcessUse& mine() {
    static ProcessUse* const joined = join();
    return *joined;
}

ProcessUse* process_at(int slot) {
    ProcessUse& process = shared().process[slot];
    return alive(process) ? &process : nullptr;
}

bool take_memory(int device, int64_t bytes) {
    my_device(device).memory_bytes += bytes;
    if (memory_used(device) <= knobs().memory_gb << 30) return true;
    my_device(device).memory_bytes -= bytes;
    return false;
}

void return_memory(int device, int64_t bytes) { my_device(device).memory_bytes -= bytes; }

int64_t memory_used(int device) {
    int64_t sum = 0;
    each_process(
        [&](const ProcessUse& p) { sum += p.device[device].memory_bytes.load(std::memory_order_relaxed); });
    return sum;
}

// Called with times in nearly rising order, from under the engine's lock: what lies further back than there
// are bins is overwritten.
void count_busy(int device, Engine engine, Ns start, Ns end) {
    const int e = static_cast<int>(engine);
    DeviceUse& use = my_device(device);
    start = std::max(start, use.busy_until_ns[e].load(std::memory_order_relaxed));
    if (start >= end) return;
    use.busy_until_ns[e].store(end, std::memory_order_relaxed);
    use.busy_ns[e] += end - start;
    add_to_bin(use, e, std::max(start, end - (kBins - 1) * kBinNs), end);
}

void count_bytes(int device, int direction, int64_t bytes) {
    DeviceUse& use = my_device(device);
    (direction == 2 ? use.link_bytes : use.pcie_bytes[direction]) += bytes;
}

double busy_share(const ProcessUse& process, int device, Engine engine, Ns now, Ns past_ns) {
    const Ns bins = std::clamp<Ns>(past_ns / kBinNs, 1, kBins);
    const Ns last = now / kBinNs - 1;  // the bin that `now` lies in is not over yet
    const Ns sum = busy_in_bins(process.device[device], static_cast<int>(engine), last - bins + 1, last);
    return static_cast<double>(sum) / static_cast<double>(bins * kBinNs);
}

double busy_share(int device, Engine engine, Ns now, Ns past_ns) {
    double sum = 0;
    each_process([&](const ProcessUse& p) { sum += busy_share(p, device, engine, now, past_ns); });
    return std::min(1.0, sum);
}

Ns busy_ns(int device, Engine engine) {
    return sum_ever(device,
                    [&](const DeviceUse& use) -> Ns { return use.busy_ns[static_cast<int>(engine)]; });
}

int64_t bytes(int device, int direction) {
    return sum_ever(device, [&](const DeviceUse& use) -> int64_t {
        return direction == 2 ? use.link_bytes : use.pcie_bytes[direction];
    });
}

uint32_t bell() { return shared().bell.load(std::memory_order_acquire); }

void ring_bell() {
    shared().bell.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &shared().bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_bell(uint32_t seen, Ns at_most_ns) {
    const timespec t{at_most_ns / 1'000'000'000, at_most_ns % 1'000'000'000};
    syscall(SYS_futex, &shared().bell, FUTEX_WAIT, seen, &t, nullptr, 0);
}

}  // namespace gpusim::box
