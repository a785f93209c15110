#include "room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "engine/knobs.h"

namespace gpusim::nccl {
namespace {

constexpr char kMagic[16] = "gpusim-room";
using Cookie = std::pair<uint64_t, uint64_t>;

Cookie cookie_of(const RoomKey& key) { return {key.cookie[0], key.cookie[1]}; }

struct Rooms {
    std::mutex mutex;
    std::map<Cookie, std::weak_ptr<Room>> entered;
    std::map<Cookie, int> made;  // files this process keeps open for ranks still to come
};

Rooms& rooms() {
    static auto* const r = new Rooms;  // used until the last instruction of the process
    return *r;
}

// 0: there is none. State Z or X: nobody will hear from it again.
int64_t living_ticks(int pid) {
    // Of the first thread: an emulator (qemu-user) makes up what a process reads of itself.
    const std::string id = std::to_string(pid), path = "/proc/" + id + "/task/" + id + "/stat";
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char text[1024];
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char* after_name = std::strrchr(text, ')');
    char state = 'X';
    long long ticks = 0;
    if (after_name == nullptr ||
        std::sscanf(after_name,
                    ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld",
                    &state, &ticks) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : ticks;
}

int open_file_of(int pid, int file) {
    if (pid == getpid()) return fcntl(file, F_DUPFD_CLOEXEC, 0);
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(file);
    return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

void* map_file(int fd, size_t size_bytes) {
    void* at = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return at == MAP_FAILED ? nullptr : at;
}

int make_file(const char* name, size_t size_bytes) {
    const int low = memfd_create(name, MFD_CLOEXEC);
    if (low < 0 || ftruncate(low, static_cast<off_t>(size_bytes)) != 0) {
        std::perror("gpusim: NCCL's shared memory");
        std::_Exit(2);
    }
    // High, where programs that use or close low descriptor numbers do not meet it.
    const int fd = fcntl(low, F_DUPFD_CLOEXEC, 600);
    if (fd < 0) return low;
    close(low);
    return fd;
}

SharedRoom* open_room(const RoomKey& key) {
    const int fd = open_file_of(key.pid, key.file);
    if (fd < 0) return nullptr;
    auto* shared = static_cast<SharedRoom*>(map_file(fd, sizeof(SharedRoom)));
    close(fd);
    if (shared == nullptr) return nullptr;
    if (std::memcmp(shared->cookie, key.cookie, sizeof key.cookie) == 0) return shared;
    munmap(shared, sizeof(SharedRoom));
    return nullptr;
}

}  // namespace

RoomKey Room::make() {
    RoomKey key{};
    std::memcpy(key.magic, kMagic, sizeof kMagic);
    key.pid = getpid();
    key.start_ticks = start_ticks_of(key.pid);
    if (getrandom(key.cookie, sizeof key.cookie, 0) != sizeof key.cookie) std::abort();
    key.file = make_file("gpusim-nccl-room", sizeof(SharedRoom));
    if (pwrite(key.file, key.cookie, sizeof key.cookie, offsetof(SharedRoom, cookie)) < 0) std::abort();
    const std::lock_guard guard(rooms().mutex);
    rooms().made[cookie_of(key)] = key.file;
    return key;
}

void Room::forget(const RoomKey& key) {
    const std::lock_guard guard(rooms().mutex);
    const auto made = rooms().made.find(cookie_of(key));
    if (made == rooms().made.end()) return;
    close(made->second);
    rooms().made.erase(made);
}

bool Room::is_key(const RoomKey& key) { return std::memcmp(key.magic, kMagic, sizeof kMagic) == 0; }

std::shared_ptr<Room> Room::enter(const RoomKey& key) {
    if (!is_key(key)) return nullptr;
    const std::lock_guard guard(rooms().mutex);
    std::weak_ptr<Room>& place = rooms().entered[cookie_of(key)];
    if (auto known = place.lock()) return known;
    SharedRoom* const shared = open_room(key);
    if (shared == nullptr) return nullptr;
    auto room = std::make_shared<Room>(key, shared);
    place = room;
    return room;
}

Room::~Room() {
    {
        const std::lock_guard guard(rooms().mutex);
        const auto place = rooms().entered.find(cookie_of(key_));
        if (place != rooms().entered.end() && place->second.expired()) rooms().entered.erase(place);
    }
    for (std::byte* stage : stages_)
        if (stage != nullptr) munmap(stage, stage_bytes());
    munmap(shared_, sizeof(SharedRoom));
}

bool Room::map_stage(int rank) {
    const std::lock_guard guard(mutex_);
    std::byte*& stage = stages_[static_cast<size_t>(rank)];
    if (stage != nullptr) return true;
    const Member& member = shared_->members[rank];
    const int fd = open_file_of(member.pid, member.stage_file);
    if (fd < 0) return false;
    stage = static_cast<std::byte*>(map_file(fd, stage_bytes()));
    close(fd);
    return stage != nullptr;
}

int make_stage_file() { return make_file("gpusim-nccl-stage", stage_bytes()); }

// Sparse: only what is used takes memory. Two contributions as large as a device's memory fit.
size_t stage_bytes() { return static_cast<size_t>(knobs().memory_gb) << 31; }

int64_t start_ticks_of(int pid) { return living_ticks(pid); }

bool is_gone(int pid, int64_t start_ticks) { return living_ticks(pid) != start_ticks; }

}  // namespace gpusim::nccl
