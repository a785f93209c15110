// The alarm's words, and what it tells of threads.
#include "shim/alarm/verdict.h"

#include <catch2/catch.hpp>

#include "shim/sqlite/rows.h"

namespace verdict_test {

using namespace gpushim::shim;

namespace {

Verdict made() {
    StuckThread waits = {};
    waits.tid = 12;
    waits.name = "py\"thon\n";
    waits.call = "cuStreamSynchronize";
    waits.call_ns = 42'400'000'000;
    waits.state = 'S';
    waits.blocked_on = "waiting_for_lock";
    waits.wchan = "futex_wait_queue";
    waits.cpu_ns = 5;
    waits.native = {"libc.so.6+0x85f1b", "train+0x1200"};
    waits.python = {{"train.py", "step", 41}, {"train.py", "main", kNull}};
    StuckThread main = {};
    main.tid = 11;
    main.name = "\xff\xfe";
    main.state = 'R';
    main.call_ns = main.cpu_ns = kNull;
    return {11, 3, "h", "", "/t/rank3.db", 99, 42'000'000'000, 30'000'000'000, 0, {main, waits}};
}

}  // namespace

TEST_CASE("the alarm in one line", "[hang]") {
    CHECK(line_of(made()) ==
          "rank 3 hangs: no operation for 42 s; cuStreamSynchronize has not returned for 42 s, at "
          "train.py:41 step; "
          "which rank is missing: gpushim watch /t/");
    Verdict verdict = made();
    verdict.rank = -1;
    verdict.for_ns = 2'500'000'000;
    verdict.threads[1].python[0].file = "a\nb";
    CHECK(line_of(verdict) ==
          "process 11 hangs: no operation for 2.5 s; cuStreamSynchronize has not returned for 42 s, at "
          "a?b:41 step; "
          "which rank is missing: gpushim watch /t/");
}

TEST_CASE("the alarm as JSON", "[hang]") {
    const std::string json = json_of(made());
    CHECK(json.starts_with("{\"gpushim_hang\":1,\"verdict\":\"rank 3 hangs: "));
    CHECK(json.find(
              "\"host\":\"h\",\"pid\":11,\"rank\":3,\"job\":null,\"trace\":\"/t/rank3.db\",\"unix_ns\":99,"
              "\"for_ns\":42000000000,\"limit_ns\":30000000000,\"usual_ns\":null,\"threads\":[") !=
          std::string::npos);
    CHECK(json.find("{\"tid\":11,\"name\":\"??\",\"call\":null,\"call_for_ns\":null,\"state\":\"R\","
                    "\"blocked_on\":null,\"wchan\":null,\"cpu_ns\":null,\"native\":null,\"native_stack\":[],"
                    "\"native_stack_is_whole\":false,\"python\":[]}") != std::string::npos);
    CHECK(json.find("{\"tid\":12,\"name\":\"py\\\"thon\\u000a\",\"call\":\"cuStreamSynchronize\","
                    "\"call_for_ns\":42400000000,") != std::string::npos);
    CHECK(
        json.ends_with("\"python\":[{\"file\":\"train.py\",\"line\":41,\"function\":\"step\"},"
                       "{\"file\":\"train.py\",\"line\":null,\"function\":\"main\"}]}]}\n"));
}

TEST_CASE("native frames as text and as JSON", "[hang]") {
    StuckThread thread = made().threads[1];
    CHECK(native_text(thread) == "libc.so.6+0x85f1b\ntrain+0x1200\n…");
    thread.is_native_whole = true;
    CHECK(native_text(thread) == "libc.so.6+0x85f1b\ntrain+0x1200");
    thread.native.clear();
    CHECK(native_text(thread).empty());
    CHECK(json_of(made()).find("\"native\":\"libc.so.6+0x85f1b\",\"native_stack\":[\"libc.so.6+0x85f1b\","
                               "\"train+0x1200\"],\"native_stack_is_whole\":false,") != std::string::npos);
}

TEST_CASE("where a blocked thread is", "[hang]") {
    const Where where =
        parse_where("202 0x7f31c8a2b4f8 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd0 0x7f31c8a85f1b\n");
    CHECK(where.place == 0x7f31c8a85f1b);
    CHECK(where.stack_pointer == 0x7ffd0);
    CHECK(parse_where("running\n").place == 0);
    CHECK(parse_where("").place == 0);
    CHECK(parse_cpu_ns("123 456 7\n") == 123);
    CHECK(parse_cpu_ns("") == kNull);
}

}  // namespace verdict_test
