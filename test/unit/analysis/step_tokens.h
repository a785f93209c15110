// Runs written as letters, one for each token, 10 ns apart: h a copy to the device, s a sync, o an
// optimizer's kernel, c a collective, g a graph, L a kernel whose code is loaded for it; B a kernel that
// computes gradients, D one of decodes, P one of prefills, C one that fills a cache, A one that attends, W a
// softmax, X one that chooses a token; any other letter a kernel of that name. A space is 10 ns in which
// nothing is launched.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/step/steps.h"
#include "analysis/step/token.h"

namespace gpushim::analysis {

struct MadeRun {
    std::vector<Token> tokens;
    int64_t now_ns = 0;
    int64_t graph_runs = 1;        // so many operations a launch of g
    int64_t gradients_thread = 0;  // that launches B; all else is launched by thread 0

    // Returns when its first token was.
    int64_t play(std::string_view letters, int32_t lane = 0, int64_t grid = 0) {
        const int64_t begin_ns = now_ns;
        for (const char letter : letters) {
            if (letter != ' ') tokens.push_back(token(letter, lane, grid));
            now_ns += 10;
        }
        return begin_ns;
    }

    // A copy to the device of so many bytes, or a sync behind which so many have been read back.
    void copy(char letter, int64_t bytes) {
        play({&letter, 1}, 0, letter == 'h' ? bytes : 0);
        tokens.back().bytes = bytes;
    }

    std::vector<int64_t> repeat(std::string_view letters, int times) {
        std::vector<int64_t> begins;
        for (int i = 0; i < times; ++i) begins.push_back(play(letters));
        return begins;
    }

    TokenSource source() const {
        return [this](const std::function<void(const Token&)>& take) {
            for (const Token& token : tokens) take(token);
        };
    }

  private:
    Token token(char letter, int32_t lane, int64_t grid) const {
        Token made{letter * 1000 + grid, now_ns, lane, TokenKind::kernel};
        made.name = letter;
        if (letter == 'h') made.kind = TokenKind::copy_h2d;
        if (letter == 's') made.kind = TokenKind::sync;
        if (letter == 'c') made.kind = TokenKind::collective;
        if (letter == 'g') {
            made.kind = TokenKind::graph;
            made.operations = graph_runs;
        }
        made.is_optimizer = letter == 'o';
        made.is_load = letter == 'L';
        made.purpose = {letter == 'B', letter == 'D' || letter == 'P' || letter == 'C',
                        letter == 'P', letter == 'D',
                        letter == 'A', letter == 'X',
                        letter == 'W'};
        if (made.purpose.trains) made.thread = gradients_thread;
        if (made.kind == TokenKind::kernel) made.blocks = grid;
        return made;
    }
};

inline std::vector<int64_t> begins(const Steps& found) {
    std::vector<int64_t> result;
    for (const Step& step : found.steps) result.push_back(step.begin_ns);
    return result;
}

}  // namespace gpushim::analysis
