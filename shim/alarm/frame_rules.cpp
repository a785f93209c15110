#include "frame_rules.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../python/own_memory.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kMostBytes = 1 << 16;  // of the rules of one function
constexpr uint32_t kMostHeaders = 64;
// How pointers are written: of these alone, which is what linkers write.
constexpr uint8_t kFromHere4 = 0x1b, kPlain4 = 0x03, kFromHeader4 = 0x3b;

// Bytes that were copied from `address` on. What lies behind their end reads as 0, and is said.
class Bytes {
  public:
    static std::optional<Bytes> read(uint64_t address, size_t size) {
        if (size > kMostBytes) return {};
        Bytes bytes;
        bytes.address_ = address;
        bytes.data_.resize(size);
        if (!read_own(address, bytes.data_.data(), size)) return {};
        return bytes;
    }
    // With its length in front, which is not part of it.
    static std::optional<Bytes> read_entry(uint64_t address) {
        uint32_t length = 0;
        if (!read_own(address, length) || length == 0 || length > kMostBytes) return {};
        return read(address + sizeof length, length);
    }

    bool is_at_end() const { return at_ >= data_.size(); }
    bool is_whole() const { return is_whole_; }  // nothing behind the end was asked for
    uint64_t address() const { return address_ + at_; }
    void skip(uint64_t count) { at_ += std::min<uint64_t>(count, data_.size() + 1); }

    template <class T>
    T get() {
        T value = 0;
        if (at_ + sizeof value <= data_.size())
            std::memcpy(&value, data_.data() + at_, sizeof value);
        else
            is_whole_ = false;
        at_ += sizeof value;
        return value;
    }
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = get<uint8_t>();
            if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return value;
        }
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const auto byte = get<uint8_t>();
            if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
            shift += 7;
            if (byte >= 0x80) continue;
            if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
            return static_cast<int64_t>(value);
        }
    }
    std::string_view text() {
        const size_t from = at_;
        while (get<uint8_t>() != 0) {
        }
        return is_whole_
                   ? std::string_view(reinterpret_cast<const char*>(data_.data()) + from, at_ - from - 1)
                   : std::string_view();
    }

  private:
    uint64_t address_ = 0;
    size_t at_ = 0;
    bool is_whole_ = true;
    std::vector<uint8_t> data_;
};

// What functions of one compiler have in common (CIE).
struct Common {
    uint64_t code_grain = 1, return_register = 0;
    int64_t data_grain = 1;
    bool has_sizes = false;  // what is added to entries says how long it is
    Bytes rules;
};

// Runs rules up to one place. What it does not know ends it.
class Rules {
  public:
    Rules(const Common& common, uint64_t begin) : common_(common), place_(begin) {
        row_.saved.fill(kUnchanged);
        row_.return_register = common.return_register;
    }
    bool run(Bytes bytes, uint64_t until) {
        while (!bytes.is_at_end() && place_ <= until)
            if (!step(bytes) || !bytes.is_whole()) return false;
        return true;
    }
    void keep_as_first() { first_ = row_; }
    std::optional<FrameRule> rule() const { return has_cfa_ ? std::optional(row_) : std::nullopt; }

  private:
    // With six bits of an operand in it.
    enum : uint8_t { advance_by = 1, offset_of = 2, restore_of = 3 };
    enum : uint8_t {
        nop = 0x00,
        advance_1 = 0x02,
        advance_2 = 0x03,
        advance_4 = 0x04,
        offset_extended = 0x05,
        restore_extended = 0x06,
        undefined = 0x07,
        same_value = 0x08,
        in_register = 0x09,
        remember = 0x0a,
        restore_remembered = 0x0b,
        def_cfa = 0x0c,
        def_cfa_register = 0x0d,
        def_cfa_offset = 0x0e,
        def_cfa_expression = 0x0f,
        expression = 0x10,
        offset_extended_signed = 0x11,
        def_cfa_signed = 0x12,
        def_cfa_offset_signed = 0x13,
        value_expression = 0x16,
        arguments_size = 0x2e,
    };

    bool step(Bytes& bytes) {
        const auto code = bytes.get<uint8_t>();
        const uint8_t operand = code & 0x3f;
        switch (code >> 6) {
            case advance_by:
                return advance(operand);
            case offset_of:
                return save(operand, grains(bytes.uleb()));
            case restore_of:
                return save(operand, first_of(operand));
            default:
                return operand == arguments_size ? (bytes.uleb(), true)
                       : operand >= def_cfa      ? step_of_cfa(operand, bytes)
                                                 : step_of_registers(operand, bytes);
        }
    }

    bool step_of_registers(uint8_t code, Bytes& bytes) {
        switch (code) {
            case nop:
                return true;
            case advance_1:
                return advance(bytes.get<uint8_t>());
            case advance_2:
                return advance(bytes.get<uint16_t>());
            case advance_4:
                return advance(bytes.get<uint32_t>());
            case remember:
                remembered_.push_back({row_, has_cfa_});
                return remembered_.size() < kMostRemembered;
            case restore_remembered:
                if (remembered_.empty()) return false;
                std::tie(row_, has_cfa_) = remembered_.back();
                remembered_.pop_back();
                return true;
            default:
                break;
        }
        const uint64_t number = bytes.uleb();
        switch (code) {
            case offset_extended:
                return save(number, grains(bytes.uleb()));
            case restore_extended:
                return save(number, first_of(number));
            case undefined:
                return save(number, kUndefined);
            case same_value:
                return save(number, kUnchanged);
            case in_register:
                bytes.uleb();
                return save(number, kLost);
            default:
                return false;
        }
    }

    bool step_of_cfa(uint8_t code, Bytes& bytes) {
        switch (code) {
            case def_cfa: {
                const uint64_t number = bytes.uleb();
                return frame(number, static_cast<int64_t>(bytes.uleb()));
            }
            case def_cfa_signed: {
                const uint64_t number = bytes.uleb();
                return frame(number, grains(static_cast<uint64_t>(bytes.sleb())));
            }
            case def_cfa_register:
                return frame(bytes.uleb(), row_.cfa_offset);
            case def_cfa_offset:
                return frame(row_.cfa_register, static_cast<int64_t>(bytes.uleb()));
            case def_cfa_offset_signed:
                return frame(row_.cfa_register, grains(static_cast<uint64_t>(bytes.sleb())));
            case def_cfa_expression:
                bytes.skip(bytes.uleb());
                has_cfa_ = false;
                return true;
            case offset_extended_signed: {
                const uint64_t number = bytes.uleb();
                return save(number, grains(static_cast<uint64_t>(bytes.sleb())));
            }
            case expression:
            case value_expression: {
                const uint64_t number = bytes.uleb();
                bytes.skip(bytes.uleb());
                return save(number, kLost);
            }
            default:
                return false;
        }
    }

    // What a file says may be anything: it wraps round.
    int64_t grains(uint64_t count) const {
        return static_cast<int64_t>(count * static_cast<uint64_t>(common_.data_grain));
    }
    bool advance(uint64_t by) {
        place_ += by * common_.code_grain;
        return true;
    }
    bool save(uint64_t number, int64_t offset) {
        if (number < kFrameRegisters) row_.saved[number] = offset;
        return true;
    }
    int64_t first_of(uint64_t number) const {
        return number < kFrameRegisters ? first_.saved[number] : kUnchanged;
    }
    bool frame(uint64_t number, int64_t offset) {
        row_.cfa_register = number;
        row_.cfa_offset = offset;
        has_cfa_ = true;
        return true;
    }

    static constexpr size_t kMostRemembered = 16;
    const Common& common_;
    uint64_t place_;
    FrameRule row_, first_;
    bool has_cfa_ = false;
    std::vector<std::pair<FrameRule, bool>> remembered_;
};

// .eh_frame_hdr of a library, by its program headers in memory; 0: none.
uint64_t header_of(const Mapping& begin) {
    Elf64_Ehdr elf;
    if (!read_own(begin.from, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr))
        return 0;
    uint64_t loaded_at = begin.from, header = 0;
    for (uint32_t i = 0; i < std::min<uint32_t>(elf.e_phnum, kMostHeaders); ++i) {
        Elf64_Phdr part;
        if (!read_own(begin.from + elf.e_phoff + i * sizeof part, part)) return 0;
        if (part.p_type == PT_LOAD && part.p_offset == 0)
            loaded_at = begin.from - part.p_vaddr / kPageBytes * kPageBytes;
        if (part.p_type == PT_GNU_EH_FRAME) header = part.p_vaddr;
    }
    return header == 0 ? 0 : loaded_at + header;
}

// The entry of the last function that begins at `place` or before it, by the header's sorted table; 0: none.
uint64_t entry_for(uint64_t header, uint64_t place) {
    struct {
        uint8_t version, frame_pointer, count, table;
        int32_t frame;
        uint32_t entries;
    } head;
    if (!read_own(header, head) || head.version != 1 || head.frame_pointer != kFromHere4 ||
        head.count != kPlain4 || head.table != kFromHeader4)
        return 0;
    struct Entry {
        int32_t begin, entry;
    } found = {0, 0};
    uint32_t low = 0, high = head.entries;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        Entry entry;
        if (!read_own(header + sizeof head + middle * sizeof entry, entry)) return 0;
        const bool is_before = header + static_cast<uint64_t>(int64_t{entry.begin}) <= place;
        if (is_before) found = entry;
        (is_before ? low : high) = is_before ? middle + 1 : middle;
    }
    return found.entry == 0 ? 0 : header + static_cast<uint64_t>(int64_t{found.entry});
}

uint64_t pointer_bytes(uint8_t how) {
    constexpr uint8_t kSize = 0x07;
    switch (how & kSize) {
        case 2:
            return 2;
        case 3:
            return 4;
        default:
            return 8;
    }
}

std::optional<Common> common_at(uint64_t address) {
    auto bytes = Bytes::read_entry(address);
    if (!bytes || bytes->get<uint32_t>() != 0) return {};
    const auto version = bytes->get<uint8_t>();
    const std::string_view added = bytes->text();
    Common common;
    common.code_grain = bytes->uleb();
    common.data_grain = bytes->sleb();
    common.return_register = version == 1 ? bytes->get<uint8_t>() : bytes->uleb();
    common.has_sizes = added.starts_with('z');
    const uint64_t size = common.has_sizes ? bytes->uleb() : 0;
    const uint64_t rules_at = bytes->address() + size;
    for (const char kind : added) {
        if (kind == 'R' && bytes->get<uint8_t>() != kFromHere4) return {};
        if (kind == 'L') bytes->skip(1);
        if (kind == 'S') return {};  // a signal's frame, which has what the kernel saved
        if (kind == 'P') bytes->skip(pointer_bytes(bytes->get<uint8_t>()));
    }
    const bool is_known = version == 1 || version == 3;
    if (!is_known || !bytes->is_whole() || rules_at < bytes->address()) return {};
    bytes->skip(rules_at - bytes->address());
    common.rules = std::move(*bytes);
    return common;
}

}  // namespace

std::optional<FrameRule> frame_rule(const MemoryMap& map, uint64_t place) {
    const Mapping* const mapping = map.at(place);
    const Mapping* const begin = mapping == nullptr || !mapping->runs ? nullptr : map.begin_of(*mapping);
    const uint64_t header = begin == nullptr ? 0 : header_of(*begin);
    const uint64_t at = header == 0 ? 0 : entry_for(header, place);
    auto entry = at == 0 ? std::nullopt : Bytes::read_entry(at);
    if (!entry) return {};
    const uint64_t common_from = entry->address();
    const auto common = common_at(common_from - entry->get<uint32_t>());
    if (!common) return {};
    const uint64_t begin_from = entry->address();
    const uint64_t function = begin_from + static_cast<uint64_t>(int64_t{entry->get<int32_t>()});
    const uint64_t size = entry->get<uint32_t>();
    if (common->has_sizes) entry->skip(entry->uleb());
    if (place < function || place >= function + size) return {};
    Rules rules(*common, function);
    if (!rules.run(common->rules, place)) return {};
    rules.keep_as_first();
    if (!rules.run(std::move(*entry), place)) return {};
    return rules.rule();
}

}  // namespace gpushim::shim
