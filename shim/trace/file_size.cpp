#include "file_size.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <utility>

#include "../base/file_status.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kIndexBytes = 64 * 1024;  // of a log of at most 8000 pages
constexpr int64_t kLeastLogBytes = 384 * 1024;
constexpr int64_t kMostLogBytes = 16 << 20;
constexpr int64_t kReserveBytes = 16 * kPageBytes;
constexpr int64_t kMostTotalsReserve = 4 << 20;
constexpr int64_t kPartForTotals = 16;

// An eighth: a smaller log is put into the database more often.
int64_t log_bytes_of(const Limits& limits) {
    if (limits.max_bytes == 0) return kMostLogBytes;
    return std::clamp(limits.max_bytes / 8, kLeastLogBytes, kMostLogBytes);
}

int64_t pages_bytes_of(const Limits& limits) {
    const int64_t left = limits.max_bytes - log_bytes_of(limits) - kIndexBytes;
    return std::max<int64_t>(left, 0) / kPageBytes * kPageBytes;
}

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

int64_t only_number(Statement& statement) {
    statement.step();
    const int64_t number = statement.number(0);
    statement.step();
    return number;
}

}  // namespace

FileSize::FileSize(Database& base, std::string path, const Limits& limits)
    : base_(base),
      log_path_(path + "-wal"),
      folder_(folder_of(path)),
      limits_(limits),
      planned_log_bytes_(log_bytes_of(limits)),
      pages_bytes_(pages_bytes_of(limits)),
      pages_(base.prepare("PRAGMA page_count")),
      free_pages_(base.prepare("PRAGMA freelist_count")) {
    // A file that is larger already, because it may take less now, stays as large.
    if (is_limited()) base_.limit_pages(std::max<int64_t>(pages_bytes_ / kPageBytes, 1));
}

size_t FileSize::most_slots() const {
    return static_cast<size_t>((planned_log_bytes_ - kTransactionBytes) / kSlotBytes);
}

int64_t FileSize::most_rows() const { return std::min<int64_t>(planned_log_bytes_ / 256, 16384); }

int64_t FileSize::log_bytes() const {
    struct stat facts;
    return status_of(log_path_.c_str(), &facts) == 0 ? facts.st_size : 0;
}

int64_t FileSize::free_bytes() const {
    struct statvfs facts;
    if (statvfs(folder_.c_str(), &facts) != 0) return INT64_MAX;
    return static_cast<int64_t>(facts.f_bavail) * static_cast<int64_t>(facts.f_frsize);
}

void FileSize::expect(int64_t need_bytes) {
    if (limits_.min_free_bytes != 0 && free_bytes() - need_bytes < limits_.min_free_bytes)
        throw NoRoom(Drop::disk, "little space is left on the disk");
    if (!base_.has_log()) return;
    const bool fits = log_bytes() + need_bytes <= planned_log_bytes_;
    const bool is_emptied = fits || base_.empty_log();
    if (!is_limited()) return;
    const int64_t most = most_bytes();
    base_.limit_log(most);
    if (!is_emptied && log_bytes() + need_bytes > most)
        throw NoRoom(Drop::reader, "another program has been reading it for a long time");
}

// Pages that are in the log only come into the database while the log is still there.
int64_t FileSize::most_bytes() {
    if (!is_limited()) return INT64_MAX;
    const int64_t pages_bytes = only_number(pages_) * kPageBytes;
    return std::max(planned_log_bytes_, (limits_.max_bytes - kIndexBytes - pages_bytes) / 2);
}

int64_t FileSize::used_bytes() { return (only_number(pages_) - only_number(free_pages_)) * kPageBytes; }

bool FileSize::is_short_of(int64_t need_bytes) {
    const int64_t for_totals = std::clamp(pages_bytes_ / kPartForTotals, kReserveBytes, kMostTotalsReserve);
    return is_limited() && used_bytes() + need_bytes + kReserveBytes + for_totals > pages_bytes_;
}

// A size that is hardly more than an empty trace has none.
bool FileSize::takes_of_reserve(int64_t used_before_bytes) {
    const int64_t most_bytes = pages_bytes_ - kReserveBytes;
    return is_limited() && used_before_bytes <= most_bytes && used_bytes() > most_bytes;
}

}  // namespace gpushim::shim
