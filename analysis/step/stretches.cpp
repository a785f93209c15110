#include "stretches.h"

#include <utility>

#include "fed.h"
#include "keys.h"

namespace gpushim::analysis {

namespace {

void add_to(int64_t& sum, int64_t bytes) { sum = sum < 0 || bytes < 0 ? -1 : sum + bytes; }

// A copy to the device that the host waits for reads nothing back: it is the input of what follows.
class CopyWaits {
  public:
    bool next(const Token& token) {
        const bool is_of_copy = token.kind == TokenKind::sync && token.bytes == 0 &&
                                before_ == TokenKind::copy_h2d && token.lane == lane_;
        before_ = token.kind;
        lane_ = token.lane;
        return is_of_copy;
    }

  private:
    TokenKind before_ = TokenKind::sync;
    int32_t lane_ = -1;
};

class Surveyor {
  public:
    void add(const Token& token) {
        Survey& all = survey_;
        all.end_ns = token.at_ns;
        if (all.trains) return;
        all.trains |= token.is_optimizer || token.purpose.trains;
        all.serves |= token.purpose.serves;
        all.attends |= token.purpose.attends;
        open_.serves |= token.purpose.serves;
        const bool is_fed = fed_.next(token);
        if (copy_waits_.next(token)) return;
        if (token.kind == TokenKind::sync) return end_stretch(token.bytes);
        if (!is_open_) open_.begin_ns = token.at_ns;
        is_open_ = true;
        open_.is_fed |= is_fed;
        open_.has_load |= token.is_load;
        if (token.kind == TokenKind::copy_h2d) return add_to(open_.in_bytes, token.bytes);
        open_.samples |= token.purpose.samples;
        open_.softmaxes += token.purpose.weighs;
        const bool is_graph = token.kind == TokenKind::graph;
        open_.graphs += is_graph;
        open_.launches += !is_graph;
        open_.signature += mixed(static_cast<uint64_t>(is_graph ? token.hash : name_of(token)));
    }

    Survey take() {
        end_stretch(0);
        return std::move(survey_);
    }

  private:
    // One that only copies goes on: what it copied is the next one's input.
    void end_stretch(int64_t read_bytes) {
        if (!is_open_ || open_.graphs + open_.launches == 0) return;
        open_.out_bytes = read_bytes;
        if (!survey_.trains) survey_.stretches.push_back(open_);
        is_open_ = false;
        open_ = {};
    }

    Survey survey_;
    Fed fed_;
    CopyWaits copy_waits_;
    HostStretch open_;
    bool is_open_ = false;
};

}  // namespace

void HostStretch::join(const HostStretch& next) {
    has_load |= next.has_load;
    samples |= next.samples;
    add_to(in_bytes, next.in_bytes);
    add_to(out_bytes, next.out_bytes);
}

void Surveyed::pass(const std::function<void(const Token&)>& take) {
    if (survey_) return of_(take);
    Surveyor surveyor;
    of_([&](const Token& token) {
        surveyor.add(token);
        take(token);
    });
    survey_ = surveyor.take();
}

}  // namespace gpushim::analysis
