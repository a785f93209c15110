// What every process on the box shares: who is there, how much device memory each holds, and how busy each
// device was lately. One small file in shared memory per user and GPUSIM_BOX; a dead process's part is
// cleared by the next that looks. Any thread, no lock: plain atomics. NVML and cuMemGetInfo read it, drivers
// write their own part.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "clock.h"

namespace gpusim {

constexpr int kMaxDevices = 64;
constexpr int kMaxProcesses = 256;
constexpr int kBins = 64;  // of kBinNs each: the recent past and the work already queued, for utilisation
constexpr Ns kBinNs = 100'000'000;

enum class Engine { compute, copy };  // what of a device was busy

struct DeviceUse {
    std::atomic<int64_t> memory_bytes;
    std::atomic<int64_t> busy_until_ns[2];      // per Engine: the end of what is already counted
    std::atomic<int64_t> bin_number[2][kBins];  // which stretch of time this bin holds
    std::atomic<int64_t> bin_busy_ns[2][kBins];
    // Counters that run on when another process takes over this part, so that no sum of them ever goes down.
    std::atomic<int64_t> busy_ns[2];     // per Engine
    std::atomic<int64_t> pcie_bytes[2];  // host to device, device to host
    std::atomic<int64_t> link_bytes;     // between devices
};

struct ProcessUse {
    std::atomic<int32_t> pid;
    std::atomic<int64_t> start_ticks;  // /proc/<pid>/stat field 22: tells a reused pid from the old one
    std::atomic<int64_t> now_ns;       // stepped mode: this process's virtual time as last published
    DeviceUse device[kMaxDevices];
};

namespace box {

// This process's part, made at first use.
ProcessUse& mine();

// Takes memory from the device as all processes see it; false when there is not enough.
bool take_memory(int device, int64_t bytes);
void return_memory(int device, int64_t bytes);
int64_t memory_used(int device);

// Counts [start, end) as busy. Overlaps with what this process counted before are counted once.
void count_busy(int device, Engine engine, Ns start, Ns end);
void count_bytes(int device, int direction,
                 int64_t bytes);  // 0 host to device, 1 device to host, 2 between devices

// Share of the last `past_ns` before `now` in which the device was busy, over all processes (at most 1) or
// by one of them.
double busy_share(int device, Engine engine, Ns now, Ns past_ns);
double busy_share(const ProcessUse& process, int device, Engine engine, Ns now, Ns past_ns);

// Sums over all processes that ever were on the box: they never go down.
Ns busy_ns(int device, Engine engine);
int64_t bytes(int device, int direction);

// Calls `visit(const ProcessUse&)` for each living process of the box.
template <class Visit>
void each_process(Visit visit);
ProcessUse* process_at(int slot);  // null: free or dead

// Waking others: a word in shared memory that is rung when something that other processes wait for has come.
uint32_t bell();
void ring_bell();
void wait_bell(uint32_t seen, Ns at_most_ns);  // real time, in both clock modes

template <class Visit>
void each_process(Visit visit) {
    for (int slot = 0; slot < kMaxProcesses; ++slot)
        if (const ProcessUse* p = process_at(slot)) visit(*p);
}

}  // namespace box
}  // namespace gpusim
