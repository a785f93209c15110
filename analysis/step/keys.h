// By what a token may be recognised again: itself, its name, itself after the token before it on its lane,
// and two cues that need no name: the first copy to the device after other work, the first operation after a
// sync. An anchor is one such key. Keys are given in order of the tokens; one thread.
#pragma once

#include <array>

#include "../trace/by_number.h"
#include "token.h"

namespace gpushim::analysis {

enum class KeyKind : uint8_t { exact, name, pair, input, after_sync };
constexpr size_t kKeyKinds = 5;

struct KeySet {
    std::array<uint64_t, kKeyKinds> key;  // by KeyKind; 0: not of this kind
};

// Spreads the bits (the finaliser of splitmix64).
inline uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}
inline int64_t name_of(const Token& token) { return token.name != 0 ? token.name : token.hash; }

class Keys {
  public:
    KeySet of(const Token& token);
    // That one alone, which is a third of the work and less; of all tokens the same.
    uint64_t of(const Token& token, KeyKind kind);

  private:
    struct Place {
        uint64_t self, before;  // of its lane; 0: none
        TokenKind behind;       // what was before it on any
    };
    Place next(const Token& token, KeyKind kind);
    static uint64_t key_of(const Token& token, const Place& place, KeyKind kind);
    ByNumber<uint64_t> before_on_lane_;
    TokenKind before_ = TokenKind::sync;  // the run's first operation follows nothing, as one after a sync
};

}  // namespace gpushim::analysis
