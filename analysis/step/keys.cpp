#include "keys.h"

namespace gpushim::analysis {

namespace {

uint64_t joined(uint64_t a, uint64_t b) { return mixed(a + 0x9e3779b97f4a7c15U * (b + 1)) | 1; }

uint64_t of_kind(KeyKind kind, uint64_t value) { return joined(value, static_cast<uint64_t>(kind)); }

}  // namespace

uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

int64_t name_of(const Token& token) { return token.name != 0 ? token.name : token.hash; }

KeySet Keys::of(const Token& token) {
    const bool is_sync = token.kind == TokenKind::sync, is_copy = token.kind == TokenKind::copy_h2d;
    const auto lane = static_cast<uint64_t>(token.lane) * 8 + static_cast<uint64_t>(token.kind);
    KeySet set{};
    // A sync ends what was; what begins is the operation after it.
    if (!is_sync) {
        const uint64_t self = joined(static_cast<uint64_t>(token.hash), lane);
        uint64_t& before = before_on_lane_[token.lane];
        set.key[0] = of_kind(KeyKind::exact, self);
        if (token.name != 0 && token.name != token.hash)
            set.key[1] = of_kind(KeyKind::name, joined(static_cast<uint64_t>(token.name), lane));
        if (before != 0) set.key[2] = of_kind(KeyKind::pair, joined(self, before));
        if (is_copy && before_ != TokenKind::copy_h2d) set.key[3] = of_kind(KeyKind::input, 1);
        if (before_ == TokenKind::sync) set.key[4] = of_kind(KeyKind::after_sync, 1);
        before = self;
    }
    before_ = token.kind;
    return set;
}

}  // namespace gpushim::analysis
