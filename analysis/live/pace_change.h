// Since when the steps of one rank take longer, or shorter, for good, told while they come: the report's test
// (../step/changes.h), asked again and again of the newest of them.
//
//   steps    | | | | | | | | | | || || || || || …
//   pieces   |─────|─────|─────|─────|─────|──       so many whole steps that kPieceNs are full; their mean
//   tested   |────────── the newest kMostPieces ──|  every kBetweenTests pieces
//
// A change is told when kAgain tests in a row have found it at about the same place: asked hundreds of times,
// one test alone would find one in steady steps. A change that is no longer found was none; but one of which
// too few pieces before it are left stays what is known until there is a newer one. How often it is wrong and
// how late it is: test/unit/analysis/pace_change_test.cpp. Pure; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace gpushim::analysis {

struct PaceChange {
    int64_t from_ns;             // begin of the steps before it, as far as they are known
    int64_t at_ns;               // begin of the first step behind it
    double before_ns, after_ns;  // medians

    double ratio() const { return after_ns / before_ns - 1; }
};

class PaceChanges {
  public:
    // In the order of their begins.
    void add(int64_t begin_ns, int64_t length_ns);
    const std::optional<PaceChange>& newest() const { return newest_; }

    static constexpr int64_t kPieceNs = 50'000'000;
    static constexpr size_t kMostPieces = 1024, kBetweenTests = 10, kAbout = 20;
    static constexpr int kAgain = 5;

  private:
    struct Piece {
        int64_t begin_ns, sum_ns, steps;
        int64_t mean_ns() const { return sum_ns / steps; }
    };
    void test();
    std::optional<PaceChange> found() const;
    bool is_about(const PaceChange& a, const PaceChange& b) const;
    double median_since(int64_t at_ns) const;

    std::deque<Piece> pieces_;  // the last one may not be full
    size_t untested_ = 0;       // full ones that came since the last test
    std::optional<PaceChange> candidate_, newest_;
    int times_ = 0;  // tests in a row that found the candidate
};

}  // namespace gpushim::analysis
