// What the box's NCCL hands to a profiler plug-in, by the interface's number (1 to 6): a buffer with each
// value at its place. The places are those of the published interface; the shim has its own description of
// them, so that one is held against the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpusim::nccl::profiler {

enum Type : uint64_t { group = 1, collective = 2, message = 4, network = 8, step = 16, channel = 64 };
enum CallType : uint64_t { group_call = 256, collective_call = 512, message_call = 1024 };

// Of one interface. A text is a number in the first.
struct Places {
    size_t sequence, function, count, root, type, channels, algorithm, protocol;
    size_t message_function, message_type, message_count, message_peer, message_channels;  // the last 0: none
};
constexpr size_t kUnion = 24;
constexpr Places kPlaces[] = {
    {16, 24, 48, 56, 60, 80, 82, 83, 16, 32, 40, 48, 0},  // 1
    {16, 24, 48, 56, 64, 80, 88, 96, 16, 32, 40, 48, 0},  // 2
    {16, 24, 48, 56, 64, 72, 80, 88, 16, 32, 40, 48, 0},  // 3
    {0, 8, 32, 40, 48, 56, 64, 72, 0, 16, 24, 32, 36},    // 4
    {0, 8, 32, 40, 48, 56, 64, 72, 0, 16, 24, 32, 36},    // 5
    {0, 8, 32, 40, 48, 56, 64, 72, 0, 16, 24, 32, 36},    // 6
};

class Words {
  public:
    // From 5 on the type has eight bytes; before, what follows its one byte is not set.
    Words(int interface, uint64_t type, const void* parent, int rank) : interface_(interface) {
        bytes_.fill(interface == 4 ? std::byte{0xa5} : std::byte{0});
        if (interface >= 5)
            put_at(0, type);
        else
            put_at(0, static_cast<uint8_t>(type));
        put_at(8, parent);
        put_at(16, rank);
    }
    template <class T>
    void put(size_t place, T value) {
        put_at(kUnion + place, value);
    }
    void put_name(size_t place, const char* name, uint8_t number) {
        if (interface_ == 1)
            put(place, number);
        else
            put(place, name);
    }
    const Places& places() const { return kPlaces[interface_ - 1]; }
    void* data() { return bytes_.data(); }

  private:
    template <class T>
    void put_at(size_t place, T value) {
        std::memcpy(bytes_.data() + place, &value, sizeof value);
    }
    int interface_;
    alignas(8) std::array<std::byte, 256> bytes_;
};

}  // namespace gpusim::nccl::profiler
