#include "number_rows.h"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "plain_layout.h"

namespace gpushim::analysis {

namespace {

// What a number in a record's header says of a value (https://www.sqlite.org/fileformat2.html).
enum Serial : uint64_t { null = 0, eight_bytes = 6, real = 7, one = 9, words = 12 };
constexpr uint8_t kBytes[words] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

uint64_t bytes_of(uint64_t serial) { return serial < words ? kBytes[serial] : (serial - words) / 2; }

int64_t whole_number(const uint8_t* at, uint64_t bytes) {
    const auto first = static_cast<int64_t>(static_cast<int8_t>(at[0]));
    if (bytes == 1) return first;
    if (bytes == 2) return first * 256 + at[1];
    auto value = static_cast<uint64_t>(first);
    for (uint64_t i = 1; i < bytes; ++i) value = value << 8 | at[i];
    return static_cast<int64_t>(value);
}

// Eight bytes less so many bits, which may go on behind the row: pages have room behind them.
int64_t top_bits(const uint8_t* at, uint8_t shift) {
    static_assert(std::endian::native == std::endian::little);
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return static_cast<int64_t>(__builtin_bswap64(value)) >> shift;
}

// As SQLite casts them.
int64_t number_of_real(const uint8_t* at) {
    constexpr double kMost = 9223372036854774784.0;
    const auto value = std::bit_cast<double>(whole_number(at, 8));
    if (!(value >= -kMost)) return value < 0 ? INT64_MIN : 0;
    return value > kMost ? INT64_MAX : static_cast<int64_t>(value);
}

std::string sql_of(const Database& base, const std::string& table, const std::string& key,
                   const std::vector<std::string>& columns) {
    const auto there = base.columns_of(table);
    std::string sql = "SELECT \"" + key + "\"";
    for (const std::string& column : columns)
        sql += there.contains(column) ? ", \"" + column + "\"" : ", NULL";
    return sql + " FROM \"" + table + "\" WHERE \"" + key + "\" >= ?1 ORDER BY 1";
}

}  // namespace

NumberRows::NumberRows(const Database& base, const std::string& table, const std::string& key,
                       const std::vector<std::string>& columns, int64_t first_key)
    : pages_(TablePages::open(base, table, key, first_key)), columns_(columns.size()) {
    if (!pages_) {
        query_.emplace(base.prepare(sql_of(base, table, key, columns)));
        query_->bind(1, first_key);
        return;
    }
    for (const std::string& place : base.plain_layout(table)->columns) {
        const auto found = std::find(columns.begin(), columns.end(), place);
        asked_.push_back(found == columns.end() ? kUnasked : static_cast<uint8_t>(found - columns.begin()));
    }
    while (!asked_.empty() && asked_.back() == kUnasked) asked_.pop_back();
    plans_.resize(kPlans);
}

const NumberRows::Plan NumberRows::kNoPlan;

constexpr std::array<NumberRows::Header, NumberRows::Plan::kLongest + 1> NumberRows::make_masks() {
    std::array<Header, Plan::kLongest + 1> masks;
    for (size_t bytes = 0; bytes < masks.size(); ++bytes) {
        constexpr size_t kHalf = sizeof(uint64_t);
        const auto first = [](size_t count) {
            return count >= kHalf ? UINT64_MAX : (uint64_t{1} << 8 * count) - 1;
        };
        masks[bytes] = {first(bytes), first(bytes - std::min(bytes, kHalf))};
    }
    return masks;
}
constexpr std::array<NumberRows::Header, NumberRows::Plan::kLongest + 1> NumberRows::kMasks = make_masks();

NumberRows::Header NumberRows::bytes_from(const uint8_t* begin) {
    static_assert(TablePages::kRoomBehind >= sizeof(Header) && Plan::kLongest == sizeof(Header));
    static_assert(std::endian::native == std::endian::little);
    Header header;
    std::memcpy(&header, begin, sizeof header);
    return header;
}

// What the header says alone is there from the row before.
inline void NumberRows::read_as_planned(const uint8_t* begin) {
    const Plan::Number* const end = plan_->numbers.data() + plan_->count;
    for (const Plan::Number* number = plan_->numbers.data(); number != end; ++number)
        row_.numbers[number->column] = top_bits(begin + number->from, number->shift);
}

// Where the row is as the last one nothing is called, so nothing has to be saved.
bool NumberRows::next_record() {
    Record record;
    if (!pages_->next_plain(record)) return next_record_otherwise();
    row_.key = record.key;
    if (!plan_->is_of(record.begin, record.end)) return read(record.begin, record.end);
    read_as_planned(record.begin);
    return true;
}

bool NumberRows::next_record_otherwise() {
    Record record;
    if (!pages_->next(record)) return false;
    row_.key = record.key;
    return read(record.begin, record.end);
}

const NumberRows::Plan& NumberRows::plan_for(const uint8_t* begin, const uint8_t* end) {
    const Header bytes = bytes_from(begin);
    const uint64_t header_bytes = bytes.front & 0xff;
    if (header_bytes == 0 || header_bytes > Plan::kLongest ||
        header_bytes > static_cast<uint64_t>(end - begin))
        return kNoPlan;
    const Header header = bytes & kMasks[header_bytes];
    Plan& plan = plans_[header.mixed()];
    if (!(plan.header == header)) make_plan(begin, header_bytes, plan);
    return plan.is_of(begin, end) ? plan : kNoPlan;
}

bool NumberRows::read(const uint8_t* begin, const uint8_t* end) {
    // Often two of them take turns.
    const Plan& plan = plan_before_->is_of(begin, end) ? *plan_before_ : plan_for(begin, end);
    plan_before_ = std::exchange(plan_, &plan);
    row_.text = {};
    row_.present = plan_->present;
    row_.numbers = plan_->without_value;
    plan_ == &kNoPlan ? read_all(begin, end) : read_as_planned(begin);
    return true;
}

// Where a header says all numbers that are asked for: 0, 1 and NULL have no bytes behind it.
size_t NumberRows::pass_alike() {
    if (plan_ == &kNoPlan || plan_->count != 0) return 0;
    return pages_->pass_while(
        [plan = plan_](const Record& record) { return plan->is_of(record.begin, record.end); });
}

// None where it has more than whole numbers and NULLs, or where it is not clear what it has.
void NumberRows::make_plan(const uint8_t* begin, size_t header_bytes, Plan& plan) const {
    plan = {};
    size_t from = header_bytes;
    for (size_t place = 0; place + 1 < header_bytes && place < asked_.size(); ++place) {
        const uint8_t serial = begin[place + 1];
        const uint8_t column = asked_[place];
        if (serial >= 0x80 || serial == 10 || serial == 11) return;
        if (column != kUnasked && (serial == real || serial >= words)) return;
        if (column != kUnasked && serial != null) {
            const uint64_t bits = 8 * bytes_of(serial);
            if (bits != 0)
                plan.numbers[plan.count++] = {column, static_cast<uint8_t>(from),
                                              static_cast<uint8_t>(64 - bits)};
            plan.without_value[column] = serial == one;
            plan.present |= 1U << column;
        }
        from += bytes_of(serial);
    }
    if (from > UINT8_MAX) return;
    plan.bytes = static_cast<uint8_t>(from);
    plan.mask = kMasks[header_bytes];
    plan.header = bytes_from(begin) & plan.mask;
}

void NumberRows::read_all(const uint8_t* begin, const uint8_t* end) {
    uint64_t header_bytes = 0, serial = 0;
    const uint8_t* header = read_varint(begin, end, header_bytes);
    if (header == nullptr || header_bytes > static_cast<uint64_t>(end - begin)) pages_->damaged();
    const uint8_t* const values = begin + header_bytes;
    const uint8_t* at = values;
    for (size_t place = 0; place < asked_.size() && header < values; ++place) {
        serial = *header;
        if (serial < 0x80)
            ++header;
        else if ((header = read_varint(header, values, serial)) == nullptr)
            pages_->damaged();
        const uint64_t bytes = bytes_of(serial);
        if (bytes > static_cast<uint64_t>(end - at)) pages_->damaged();
        const uint8_t* const value = at;
        at += bytes;
        const size_t column = asked_[place];
        if (column == kUnasked || serial == null) continue;
        row_.present |= 1U << column;
        if (serial <= eight_bytes)
            row_.numbers[column] = whole_number(value, bytes);
        else if (serial == one)
            row_.numbers[column] = 1;
        else if (serial == real)
            row_.numbers[column] = number_of_real(value);
        else if (serial > words && serial % 2 == 1)
            row_.text = {reinterpret_cast<const char*>(value), static_cast<size_t>(bytes)};
    }
}

bool NumberRows::next_of_query() {
    if (!query_->step()) return false;
    sqlite3_stmt* statement = query_->raw();
    row_ = {};
    row_.key = query_->number(0);
    for (size_t i = 0; i < columns_; ++i) {
        const int column = static_cast<int>(i) + 1;
        const int type = sqlite3_column_type(statement, column);
        if (type == SQLITE_NULL) continue;
        const bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        row_.set(i, is_number ? sqlite3_column_int64(statement, column) : 0);
        if (type == SQLITE_TEXT)
            row_.text = {reinterpret_cast<const char*>(sqlite3_column_text(statement, column)),
                         static_cast<size_t>(sqlite3_column_bytes(statement, column))};
    }
    return true;
}

}  // namespace gpushim::analysis
