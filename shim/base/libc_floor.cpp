// Functions of newer C libraries, for older ones: what is compiled here asks for them, because headers or the
// compiler's own libraries do. Hidden: nobody else's calls come here.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "file_status.h"
#include "system.h"

#define FLOOR extern "C" __attribute__((visibility("hidden")))

using namespace gpushim::shim;

// No: then what libstdc++ counts, it counts atomically.
FLOOR char __libc_single_threaded;
char __libc_single_threaded = 0;

FLOOR uint32_t arc4random() noexcept {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number))
        return number;
    // Nothing of ours needs it to be hard to guess.
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint32_t>(now.tv_nsec) * 2654435761u;
}

FLOOR pid_t gettid() noexcept { return thread_id(); }

// Before 2.33 these were no functions of the library but of each program.
FLOOR int stat(const char* path, struct stat* facts) noexcept { return status_of(path, facts); }
FLOOR int lstat(const char* path, struct stat* facts) noexcept { return status_of_link(path, facts); }
FLOOR int fstat(int file, struct stat* facts) noexcept { return status_of(file, facts); }
static_assert(sizeof(struct stat) == sizeof(struct stat64));
FLOOR int stat64(const char* path, struct stat64* facts) noexcept {
    return status_of(path, reinterpret_cast<struct stat*>(facts));
}
FLOOR int lstat64(const char* path, struct stat64* facts) noexcept {
    return status_of_link(path, reinterpret_cast<struct stat*>(facts));
}
FLOOR int fstat64(int file, struct stat64* facts) noexcept {
    return status_of(file, reinterpret_cast<struct stat*>(facts));
}

namespace {

using FindObject = int(void*, dl_find_object*);
std::atomic<FindObject*> g_find_object = nullptr;

struct Wanted {
    uintptr_t address;
    dl_find_object* result;
};

int look(dl_phdr_info* object, size_t, void* data) {
    const auto* const wanted = static_cast<Wanted*>(data);
    uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
    bool is_in = false;
    for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
        const uintptr_t from = object->dlpi_addr + part->p_vaddr, until = from + part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME) frames = from;
        if (part->p_type != PT_LOAD) continue;
        begin = from < begin ? from : begin;
        end = until > end ? until : end;
        is_in = is_in || (wanted->address >= from && wanted->address < until);
    }
    if (!is_in || frames == 0) return 0;
    *wanted->result = {};
    wanted->result->dlfo_map_start = reinterpret_cast<void*>(begin);
    wanted->result->dlfo_map_end = reinterpret_cast<void*>(end);
    wanted->result->dlfo_eh_frame = reinterpret_cast<void*>(frames);
    return 1;
}

int find_object_by_looking(void* address, dl_find_object* result) {
    Wanted wanted = {reinterpret_cast<uintptr_t>(address), result};
    return dl_iterate_phdr(look, &wanted) != 0 ? 0 : -1;
}

}  // namespace

// What an exception asks for each function that it leaves. The library's own, where there is one, takes no
// lock.
FLOOR int _dl_find_object(void* address, dl_find_object* result) noexcept {
    FindObject* find = g_find_object.load(std::memory_order_relaxed);
    if (find == nullptr) {
        find = reinterpret_cast<FindObject*>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
        if (find == nullptr) find = find_object_by_looking;
        g_find_object.store(find, std::memory_order_relaxed);
    }
    return find(address, result);
}
