// The bytes of every collective: rank r's element i is r*100 + i, so every place tells where its value comes
// from.
#include "ranks.h"

namespace collectives_test {

namespace {

constexpr size_t kCount = 5;

using Values = std::vector<int>;

// `parts` parts of kCount values.
Values input(int rank, int parts = 1) {
    Values values;
    for (int i = 0; i < parts * static_cast<int>(kCount); ++i) values.push_back(rank * 100 + i);
    return values;
}

Values part(int rank, int which) {
    const Values all = input(rank, which + 1);
    return {all.end() - static_cast<long>(kCount), all.end()};
}

Values joined(int ranks, const std::function<Values(int)>& of_rank) {
    Values all;
    for (int rank = 0; rank < ranks; ++rank) {
        const Values one = of_rank(rank);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

// Element i of the sum over all ranks of part `which`.
Values sum(int ranks, int which = 0) {
    Values result(kCount, 0);
    for (int rank = 0; rank < ranks; ++rank)
        for (size_t i = 0; i < kCount; ++i) result[i] += part(rank, which)[i];
    return result;
}

const Values kUntouched(64 * kCount, -1);

struct Buffers {
    Buffers(const Ranks& ranks, int parts) {
        for (int rank = 0; rank < ranks.count(); ++rank) {
            send.push_back(ranks.put(rank, input(rank, parts)));
            recv.push_back(ranks.put(rank, kUntouched));
        }
    }
    int* in(int rank) const { return send[static_cast<size_t>(rank)]; }
    int* out(int rank) const { return recv[static_cast<size_t>(rank)]; }
    std::vector<int*> send, recv;
};

void for_2_3_8_ranks(int parts_per_rank, const std::function<void(const Ranks&, const Buffers&, int)>& test) {
    box::knobs("GPUSIM_DEVICES=8");
    for (const int n : {2, 3, 8}) {
        INFO(n << " ranks");
        const Ranks ranks(n);
        const Buffers buffers(ranks, parts_per_rank > 1 ? n : 1);
        test(ranks, buffers, n);
    }
}

}  // namespace

TEST_CASE("AllReduce leaves the sum everywhere", "[nccl]") {
    for_2_3_8_ranks(1, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            return ncclAllReduce(b.in(r), b.out(r), kCount, ncclInt, ncclSum, ranks.comm(r), ranks.stream(r));
        });
        for (int r = 0; r < n; ++r) {
            CHECK(ranks.get(r, b.out(r), kCount) == sum(n));
            CHECK(ranks.get(r, b.in(r), kCount) == input(r));
            CHECK(ranks.get(r, b.out(r) + kCount, 1) == Values{-1});
        }
    });
}

TEST_CASE("AllReduce works in place", "[nccl]") {
    for_2_3_8_ranks(1, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            return ncclAllReduce(b.in(r), b.in(r), kCount, ncclInt, ncclSum, ranks.comm(r), ranks.stream(r));
        });
        for (int r = 0; r < n; ++r) CHECK(ranks.get(r, b.in(r), kCount) == sum(n));
    });
}

TEST_CASE("Reduce leaves the sum at the root alone", "[nccl]") {
    for_2_3_8_ranks(1, [](const Ranks& ranks, const Buffers& b, int n) {
        const int root = n - 1;
        ranks.together([&](int r) {
            int* const to = r == root ? b.out(r) : nullptr;
            return ncclReduce(b.in(r), to, kCount, ncclInt, ncclSum, root, ranks.comm(r), ranks.stream(r));
        });
        CHECK(ranks.get(root, b.out(root), kCount) == sum(n));
        CHECK(ranks.get(0, b.out(0), kCount) == Values(kCount, -1));
    });
}

TEST_CASE("Broadcast and Bcast leave the root's values everywhere", "[nccl]") {
    for_2_3_8_ranks(1, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            const int* const from = r == 1 ? b.in(r) : nullptr;
            return ncclBroadcast(from, b.out(r), kCount, ncclInt, 1, ranks.comm(r), ranks.stream(r));
        });
        for (int r = 0; r < n; ++r) CHECK(ranks.get(r, b.out(r), kCount) == input(1));
        ranks.together(
            [&](int r) { return ncclBcast(b.in(r), kCount, ncclInt, 0, ranks.comm(r), ranks.stream(r)); });
        for (int r = 0; r < n; ++r) CHECK(ranks.get(r, b.in(r), kCount) == input(0));
    });
}

TEST_CASE("AllGather puts every rank's values at its place", "[nccl]") {
    for_2_3_8_ranks(1, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            return ncclAllGather(b.in(r), b.out(r), kCount, ncclInt, ranks.comm(r), ranks.stream(r));
        });
        const Values expected = joined(n, [](int r) { return input(r); });
        for (int r = 0; r < n; ++r) CHECK(ranks.get(r, b.out(r), expected.size()) == expected);
    });
}

TEST_CASE("AllGather works in place", "[nccl]") {
    for_2_3_8_ranks(1, [](const Ranks& ranks, const Buffers& b, int n) {
        for (int r = 0; r < n; ++r) {
            ranks.use(r);
            CU(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(b.out(r) + static_cast<size_t>(r) * kCount),
                            input(r).data(), kCount * sizeof(int)));
        }
        ranks.together([&](int r) {
            return ncclAllGather(b.out(r) + static_cast<size_t>(r) * kCount, b.out(r), kCount, ncclInt,
                                 ranks.comm(r), ranks.stream(r));
        });
        const Values expected = joined(n, [](int r) { return input(r); });
        for (int r = 0; r < n; ++r) CHECK(ranks.get(r, b.out(r), expected.size()) == expected);
    });
}

TEST_CASE("ReduceScatter leaves each rank its part of the sum", "[nccl]") {
    for_2_3_8_ranks(2, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            return ncclReduceScatter(b.in(r), b.out(r), kCount, ncclInt, ncclSum, ranks.comm(r),
                                     ranks.stream(r));
        });
        for (int r = 0; r < n; ++r) {
            CHECK(ranks.get(r, b.out(r), kCount) == sum(n, r));
            CHECK(ranks.get(r, b.out(r) + kCount, 1) == Values{-1});
        }
    });
}

TEST_CASE("ReduceScatter works in place", "[nccl]") {
    for_2_3_8_ranks(2, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            return ncclReduceScatter(b.in(r), b.in(r) + static_cast<size_t>(r) * kCount, kCount, ncclInt,
                                     ncclSum, ranks.comm(r), ranks.stream(r));
        });
        for (int r = 0; r < n; ++r)
            CHECK(ranks.get(r, b.in(r) + static_cast<size_t>(r) * kCount, kCount) == sum(n, r));
    });
}

TEST_CASE("AlltoAll transposes", "[nccl]") {
    for_2_3_8_ranks(2, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            return ncclAlltoAll(b.in(r), b.out(r), kCount, ncclInt, ranks.comm(r), ranks.stream(r));
        });
        for (int r = 0; r < n; ++r) {
            const Values expected = joined(n, [r](int from) { return part(from, r); });
            CHECK(ranks.get(r, b.out(r), expected.size()) == expected);
        }
    });
}

TEST_CASE("Gather collects at the root, Scatter hands out", "[nccl]") {
    for_2_3_8_ranks(2, [](const Ranks& ranks, const Buffers& b, int n) {
        ranks.together([&](int r) {
            int* const to = r == 1 ? b.out(r) : nullptr;
            return ncclGather(b.in(r), to, kCount, ncclInt, 1, ranks.comm(r), ranks.stream(r));
        });
        const Values expected = joined(n, [](int r) { return input(r); });
        CHECK(ranks.get(1, b.out(1), expected.size()) == expected);
        CHECK(ranks.get(0, b.out(0), 1) == Values{-1});
        ranks.together([&](int r) {
            const int* const from = r == 1 ? b.in(r) : nullptr;
            return ncclScatter(from, b.out(r), kCount, ncclInt, 1, ranks.comm(r), ranks.stream(r));
        });
        for (int r = 0; r < n; ++r) CHECK(ranks.get(r, b.out(r), kCount) == part(1, r));
    });
}

TEST_CASE("a collective of one rank copies", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1");
    const Ranks ranks(1);
    const Buffers b(ranks, 1);
    ranks.together([&](int r) {
        return ncclAllReduce(b.in(r), b.out(r), kCount, ncclInt, ncclAvg, ranks.comm(r), ranks.stream(r));
    });
    CHECK(ranks.get(0, b.out(0), kCount) == input(0));
}

TEST_CASE("large contributions go through the stage many times over", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    constexpr size_t kLarge = 300'000;
    const std::vector<float> ones(kLarge, 1.0f);
    float* const buffers[] = {ranks.put(0, ones), ranks.put(1, ones)};
    for (int round = 0; round < 20; ++round) {
        NC(ncclGroupStart());
        for (int r = 0; r < 2; ++r)
            NC(ncclAllReduce(buffers[r], buffers[r], kLarge, ncclFloat, ncclSum, ranks.comm(r),
                             ranks.stream(r)));
        NC(ncclGroupEnd());
    }
    ranks.synchronize();
    for (int r = 0; r < 2; ++r)
        CHECK((ranks.get(r, buffers[r], kLarge) == std::vector<float>(kLarge, 1048576.0f)));  // 2 to the 20th
}

TEST_CASE("operations of several streams each have their place in the stage", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    constexpr size_t kLarge = 50'000;
    constexpr int kStreams = 6;
    std::vector<int*> buffers[2];
    std::vector<CUstream> streams[2];
    for (int r = 0; r < 2; ++r)
        for (int s = 0; s < kStreams; ++s) {
            buffers[r].push_back(ranks.put(r, std::vector<int>(kLarge, 10 * r + s)));
            CU(cuStreamCreate(&streams[r].emplace_back(), CU_STREAM_NON_BLOCKING));
        }
    for (int r = 0; r < 2; ++r)
        for (size_t s = 0; s < kStreams; ++s)
            NC(ncclBroadcast(buffers[r][s], buffers[r][s], kLarge, ncclInt, 0, ranks.comm(r),
                             reinterpret_cast<cudaStream_t>(streams[r][s])));
    for (int r = 0; r < 2; ++r) {
        ranks.use(r);
        for (int s = 0; s < kStreams; ++s) {
            CU(cuStreamSynchronize(streams[r][static_cast<size_t>(s)]));
            CHECK((ranks.get(r, buffers[r][static_cast<size_t>(s)], kLarge) == std::vector<int>(kLarge, s)));
        }
    }
}

TEST_CASE("the stage is used again", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=1 GPUSIM_MEMORY_GB=1");  // so it holds 2 GiB
    const Ranks ranks(1);
    constexpr size_t kLarge = 100'000'000;
    char* const buffer = ranks.put(0, std::vector<char>(kLarge, 'x'));
    for (int round = 0; round < 24; ++round)
        NC(ncclBroadcast(buffer, buffer, kLarge, ncclChar, 0, ranks.comm(0), ranks.stream(0)));
    ranks.synchronize();
    CHECK(ranks.get(0, buffer + kLarge - 1, 1)[0] == 'x');
}

}  // namespace collectives_test
