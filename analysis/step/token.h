// What finding steps is given of a run: one token for each operation the host submitted, in order of time.
// Plain values; who makes them decides what a hash is of. A lane is a compute stream, or whatever keeps its
// own order; tokens that belong to none (a sync) may have any.
#pragma once

#include <cstdint>
#include <functional>

namespace gpushim::analysis {

enum class TokenKind : uint8_t { kernel, graph, copy_h2d, sync, collective };

// What its name, or those of a graph's kernels, say of the program.
struct Purpose {
    bool trains = false;  // computes gradients
    bool serves = false;  // reads or fills a language model's cache, or samples
    bool prefills = false, decodes = false;
    bool attends = false;     // which both training and serving do
    bool samples = false;     // chooses by scores, which both may do
    bool weighs = false;      // a softmax: attention without a kernel of its own has one in each layer
    bool only_moves = false;  // a collective that adds nothing up, so it exchanges no gradients
};

struct Token {
    int64_t hash;   // kernel: name, grid, block; graph: its exec id; copy: its bytes
    int64_t at_ns;  // when it was submitted
    int32_t lane;
    TokenKind kind;
    bool is_optimizer = false;  // its name is that of an optimizer's kernel
    bool is_load = false;       // a module was loaded or code compiled for it
    int64_t name = 0;           // the hash without grid, block and bytes; 0: the same as `hash`
    Purpose purpose = {};
    // Of a copy to the device; of a sync: what was copied to the host since the one before. Below 0: not
    // known.
    int64_t bytes = -1;
    int64_t blocks = 0;  // of a kernel; 0: not known
    // Of a graph: what a launch of it runs, as far as that is known; of one that stands for several in a row,
    // of all of them.
    int64_t operations = 1;
    int64_t thread = 0;  // of the host, that submitted it
    // When the host had submitted it or, where one stands for several in a row, the last of them.
    int64_t until_ns = INT64_MAX;  // not known
};

// Gives every token of the run to what it is handed, in order of time, and the same again when called again:
// a run has up to 100 million, so nobody keeps them.
using TokenSource = std::function<void(const std::function<void(const Token&)>&)>;

// Of a source those from one time up to another.
inline TokenSource within(const TokenSource& source, int64_t from_ns, int64_t until_ns) {
    if (from_ns == INT64_MIN && until_ns == INT64_MAX) return source;
    return [&source, from_ns, until_ns](const std::function<void(const Token&)>& take) {
        source([&](const Token& token) {
            if (token.at_ns >= from_ns && token.at_ns < until_ns) take(token);
        });
    };
}

}  // namespace gpushim::analysis
