#include "table_pages.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "../failure.h"
#include "page_format.h"
#include "plain_layout.h"

namespace gpushim::analysis {

namespace {

constexpr uint32_t kFileHeader = 100;
constexpr uint32_t kPagesAtOnce = 16;
constexpr uint32_t kPageBytesPlace = 16, kReservedPlace = 20;

uint32_t two_bytes(const uint8_t* at) { return uint32_t{at[0]} << 8 | at[1]; }
uint32_t four_bytes(const uint8_t* at) { return two_bytes(at) << 16 | two_bytes(at + 2); }

constexpr const char* kAny = "SELECT 1 FROM sqlite_schema";

}  // namespace

const uint8_t* read_varint(const uint8_t* at, const uint8_t* end, uint64_t& value) {
    constexpr int kWhole = 8;  // bytes of 7 bits; the one behind them has 8
    value = 0;
    for (int i = 0; i < kWhole; ++i) {
        if (at == end) return nullptr;
        value = value << 7 | (*at & 0x7f);
        if ((*at++ & 0x80) == 0) return at;
    }
    if (at == end) return nullptr;
    value = value << 8 | *at++;
    return at;
}

TablePages::TablePages(Query open, sqlite3_file* file, std::string where)
    : open_(std::move(open)), file_(file), where_(std::move(where)) {}

void TablePages::damaged() const { throw Failure(where_ + ": the database is damaged", kUsage); }

std::optional<TablePages> TablePages::open(const Database& base, const std::string& table,
                                           const std::string& key, int64_t first_key) {
    const PlainLayout* const layout = base.plain_layout(table);
    if (layout == nullptr || layout->columns.front() != key) return {};
    Query open = base.prepare(kAny);
    open.step();
    sqlite3_file* file = nullptr;
    const int code = sqlite3_file_control(base.raw(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || file == nullptr || file->pMethods == nullptr) return {};
    TablePages pages(std::move(open), file, base.where());
    pages.first_key_ = first_key;
    if (!pages.read_header() || layout->root_page <= 1) return {};
    pages.to_visit_.push_back(layout->root_page);
    const uint8_t kind = *pages.load(layout->root_page);
    if (kind != kInteriorPage && kind != kLeafPage) return {};  // its rows are in the tree of a key
    return pages;
}

bool TablePages::read_header() {
    uint8_t header[kFileHeader];
    sqlite3_int64 bytes = 0;
    if (file_->pMethods->xRead(file_, header, sizeof header, 0) != SQLITE_OK ||
        file_->pMethods->xFileSize(file_, &bytes) != SQLITE_OK || bytes <= 0)
        return false;
    const uint32_t told = two_bytes(header + kPageBytesPlace);
    page_bytes_ = told == 1 ? 65'536 : told;
    if (page_bytes_ < 512 || (page_bytes_ & (page_bytes_ - 1)) != 0) return false;
    usable_bytes_ = page_bytes_ - header[kReservedPlace];
    plain_places_ = usable_bytes_ - static_cast<uint32_t>(1 + kFirstKeyBytes);
    pages_ = static_cast<uint64_t>(bytes) / page_bytes_;
    hold(1);  // most tables have no more
    return true;
}

void TablePages::hold(uint32_t pages) {
    pages_at_once_ = pages;
    chunk_.resize(size_t{pages} * page_bytes_ + kRoomBehind);
    chunk_first_ = 0;
}

const uint8_t* TablePages::load(uint32_t page) {
    if (page == 0 || page > pages_) damaged();
    // From it on, not from a multiple of so many: leaves stand in the order of their rows, some together.
    if (chunk_first_ == 0 || page < chunk_first_ || page - chunk_first_ >= pages_at_once_) {
        const int code =
            file_->pMethods->xRead(file_, chunk_.data(), static_cast<int>(chunk_.size() - kRoomBehind),
                                   static_cast<sqlite3_int64>(uint64_t{page - 1} * page_bytes_));
        // The file may end within the chunk; what is missing is zeros then.
        if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
            throw Failure(where_ + ": " + sqlite3_errstr(code), kUsage);
        chunk_first_ = page;
    }
    return chunk_.data() + size_t{page - chunk_first_} * page_bytes_;
}

bool TablePages::next(Record& record) {
    do {
        while (cell_ == cells_)
            if (!next_leaf()) return false;
        record = read_cell();
    } while (record.key < first_key_);
    return true;
}

bool TablePages::next_leaf() {
    while (!to_visit_.empty()) {
        const uint32_t number = to_visit_.back();
        to_visit_.pop_back();
        if (visited_++ >= pages_ || number == 1) damaged();
        const uint8_t* page = load(number);
        const uint32_t cells = two_bytes(page + kCellsPlace);
        const uint32_t header = *page == kInteriorPage ? kInteriorHeader : kLeafHeader;
        if (header + 2 * cells > usable_bytes_) damaged();
        if (*page == kInteriorPage) {
            visit_children(page, page + header, cells);
        } else if (*page == kLeafPage) {
            page_ = page;
            page_end_ = page + usable_bytes_;
            cell_ = page + header;
            cells_ = cell_ + kCellPlaceBytes * cells;
            return true;
        } else {
            damaged();
        }
    }
    return false;
}

void TablePages::visit_children(const uint8_t* page, const uint8_t* places, uint32_t cells) {
    to_visit_.push_back(four_bytes(page + kRightmostPlace));
    for (uint32_t i = cells; i-- > 0;) {
        const uint32_t place = two_bytes(places + size_t{2} * i);
        if (place + 4 > usable_bytes_) damaged();
        uint64_t last_key = 0;  // of the child
        if (read_varint(page + place + 4, page + usable_bytes_, last_key) == nullptr) damaged();
        if (static_cast<int64_t>(last_key) < first_key_) break;  // and those before it
        to_visit_.push_back(four_bytes(page + place));
    }
    if (to_visit_.size() > pages_) damaged();
    if (pages_at_once_ < kPagesAtOnce) hold(kPagesAtOnce);
}

void TablePages::note_key(uint64_t key, const uint8_t* begin, const uint8_t* end) {
    key_bytes_ = end - begin;
    key_shift_ = static_cast<uint8_t>(64 - 8 * std::min(key_bytes_, kFirstKeyBytes));
    uint64_t bytes = 0;
    std::memcpy(&bytes, begin, sizeof bytes);
    same_bits_ = __builtin_bswap64(bytes) >> key_shift_ & kSameBits;
    const uint64_t of_these = key_bytes_ > kFirstKeyBytes ? key >> 8 : key;
    upper_key_ = of_these >> kOtherBits << kOtherBits;
}

Record TablePages::read_cell() {
    const uint32_t place = two_bytes(std::exchange(cell_, cell_ + kCellPlaceBytes));
    if (place >= usable_bytes_) damaged();
    uint64_t bytes = 0, key = 0;
    const uint8_t* const key_begin = read_varint(page_ + place, page_end_, bytes);
    const uint8_t* const begin = key_begin == nullptr ? nullptr : read_varint(key_begin, page_end_, key);
    // Longer ones go on elsewhere; ours are numbers and a word.
    if (begin == nullptr || bytes > static_cast<uint64_t>(page_end_ - begin)) damaged();
    note_key(key, key_begin, begin);
    return {static_cast<int64_t>(key), begin, begin + bytes};
}

}  // namespace gpushim::analysis
