// A place of its own for folders of rings, in the stead of /dev/shm; gone with the object.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

constexpr uint8_t kRingsUuid[16] = {0x0a, 0x1b, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff};
constexpr char kRingsName[] = "0a1b02030405060708090a0b0c0d0eff";

struct RingRoot {
    RingRoot() {
        char name[] = "/tmp/gpushim-rings-XXXXXX";
        path = mkdtemp(name);
        user = path / ("gpushim-" + std::to_string(geteuid()));
    }
    ~RingRoot() { std::filesystem::remove_all(path); }
    RingRoot(const RingRoot&) = delete;
    RingRoot& operator=(const RingRoot&) = delete;

    std::filesystem::path path;
    std::filesystem::path user;  // where open_user_folder makes the user's
};
