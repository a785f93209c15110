#include "table_pages.h"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "../failure.h"

namespace gpushim::analysis {

namespace {

// https://www.sqlite.org/fileformat2.html
constexpr uint8_t kInterior = 5, kLeaf = 13;  // kinds of pages of a table
constexpr uint32_t kFileHeader = 100, kInteriorHeader = 12, kLeafHeader = 8;
constexpr uint32_t kPagesAtOnce = 16;
constexpr uint32_t kPageBytesPlace = 16, kReservedPlace = 20;

uint32_t two_bytes(const uint8_t* at) { return uint32_t{at[0]} << 8 | at[1]; }
uint32_t four_bytes(const uint8_t* at) { return two_bytes(at) << 16 | two_bytes(at + 2); }

// Where rows have no other key, and the place of a column in them is its place in the table.
constexpr const char* kPlainTable =
    "SELECT s.rootpage FROM sqlite_schema s WHERE s.type = 'table' AND s.name = ?1 AND 1 ="
    " (SELECT count(*) FROM pragma_table_xinfo(?1) c WHERE c.pk > 0 AND c.name = ?2 AND c.cid = 0"
    "  AND c.type = 'INTEGER' COLLATE NOCASE) AND NOT EXISTS"
    " (SELECT 1 FROM pragma_table_xinfo(?1) c WHERE c.hidden <> 0 OR c.dflt_value IS NOT NULL"
    "  OR c.pk > 0 AND c.cid <> 0) AND NOT EXISTS"
    " (SELECT 1 FROM pragma_index_list(?1) i WHERE i.origin = 'pk')";

constexpr uint64_t kGoesOn = 0x8080808080808080;  // a bit of each byte but the last

// Of a number of so many bits, each eighth of which is none of it.
uint64_t without_eighths(uint64_t bytes) {
    bytes &= ~kGoesOn;
    // Two of 7 bits become one of 14, two of these one of 28, and those the number.
    bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
    bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
    return (bytes & 0x000000000fffffff) | (bytes & 0x0fffffff00000000) >> 4;
}

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

TablePages::TablePages(Query root, sqlite3_file* file, std::string where)
    : root_(std::move(root)), file_(file), where_(std::move(where)) {}

void TablePages::damaged() const { throw Failure(where_ + ": the database is damaged", kUsage); }

std::optional<TablePages> TablePages::open(const Database& base, const std::string& table,
                                           const std::string& key, int64_t first_key) {
    if (!base.is_one_file()) return {};
    Query root = base.prepare(kPlainTable);
    root.bind(1, table);
    root.bind(2, key);
    if (!root.step()) return {};
    sqlite3_file* file = nullptr;
    const int code = sqlite3_file_control(base.raw(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || file == nullptr || file->pMethods == nullptr) return {};
    const int64_t page = root.number(0);
    TablePages pages(std::move(root), file, base.where());
    pages.first_key_ = first_key;
    if (!pages.read_header() || page <= 1 || page > UINT32_MAX) return {};
    pages.to_visit_.push_back(static_cast<uint32_t>(page));
    const uint8_t kind = *pages.load(static_cast<uint32_t>(page));
    if (kind != kInterior && kind != kLeaf) return {};  // its rows are in the tree of a key
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
    pages_ = static_cast<uint64_t>(bytes) / page_bytes_;
    hold(1);  // most tables have no more
    return true;
}

void TablePages::hold(uint32_t pages) {
    pages_at_once_ = pages;
    chunk_.resize(size_t{pages} * page_bytes_ + kRoomBehind);
    chunk_number_ = UINT64_MAX;
}

const uint8_t* TablePages::load(uint32_t page) {
    if (page == 0 || page > pages_) damaged();
    const uint64_t chunk = (page - 1) / pages_at_once_;
    if (chunk != chunk_number_) {
        const int code =
            file_->pMethods->xRead(file_, chunk_.data(), static_cast<int>(chunk_.size() - kRoomBehind),
                                   static_cast<sqlite3_int64>(chunk * (chunk_.size() - kRoomBehind)));
        // The file may end within the chunk; what is missing is zeros then.
        if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
            throw Failure(where_ + ": " + sqlite3_errstr(code), kUsage);
        chunk_number_ = chunk;
    }
    return chunk_.data() + size_t{(page - 1) % pages_at_once_} * page_bytes_;
}

bool TablePages::next_leaf() {
    while (!to_visit_.empty()) {
        const uint32_t number = to_visit_.back();
        to_visit_.pop_back();
        if (visited_++ >= pages_ || number == 1) damaged();
        const uint8_t* page = load(number);
        const uint32_t cells = two_bytes(page + 3);
        const uint32_t header = *page == kInterior ? kInteriorHeader : kLeafHeader;
        if (header + 2 * cells > usable_bytes_) damaged();
        if (*page == kInterior) {
            visit_children(page, page + header, cells);
        } else if (*page == kLeaf) {
            page_ = page;
            cell_places_ = page + header;
            cell_ = 0;
            cells_ = cells;
            return true;
        } else {
            damaged();
        }
    }
    return false;
}

void TablePages::visit_children(const uint8_t* page, const uint8_t* places, uint32_t cells) {
    constexpr uint32_t kRightmost = 8;  // its place in the page's header
    to_visit_.push_back(four_bytes(page + kRightmost));
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

// Keys follow each other: nearly all are as long as the one before, and where a row begins is known before
// its key is.
const uint8_t* TablePages::read_key(const uint8_t* at, const uint8_t* end, uint64_t& key) {
    static_assert(std::endian::native == std::endian::little);
    uint64_t bytes = 0;
    if (end - at >= static_cast<std::ptrdiff_t>(sizeof bytes)) {
        std::memcpy(&bytes, at, sizeof bytes);
        const uint64_t whole = UINT64_MAX >> (64 - 8 * key_bytes_);
        if ((bytes & kGoesOn & whole) == (kGoesOn & whole >> 8)) {
            key = without_eighths(__builtin_bswap64(bytes) >> (64 - 8 * key_bytes_));
            return at + key_bytes_;
        }
    }
    const uint8_t* const behind = read_varint(at, end, key);
    if (behind != nullptr) key_bytes_ = std::min<int64_t>(behind - at, sizeof bytes);
    return behind;
}

void TablePages::read_cell(Record& record) {
    const uint8_t* const end = page_ + usable_bytes_;
    const uint32_t place = two_bytes(cell_places_ + size_t{2} * cell_++);
    if (place >= usable_bytes_) damaged();
    uint64_t bytes = 0, key = 0;
    const uint8_t* at = page_ + place;
    if (*at < 0x80)
        bytes = *at++;
    else
        at = read_varint(at, end, bytes);
    if (at != nullptr) at = read_key(at, end, key);
    // Longer ones go on elsewhere; ours are numbers and a word.
    if (at == nullptr || bytes > static_cast<uint64_t>(end - at)) damaged();
    record = {static_cast<int64_t>(key), at, at + bytes};
}

}  // namespace gpushim::analysis
