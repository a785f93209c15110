#include "shim/base/config.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>

namespace config_test {

using namespace gpushim::shim;

namespace {

Config with(const char* name, const char* text) {
    Config config = default_config();
    INFO(name << "=" << text);
    CHECK(understand(config, name, text));
    return config;
}

void refuses(const char* name, const std::string& text) {
    Config config = default_config();
    const Config before = config;
    INFO(name << "=" << text);
    CHECK(!understand(config, name, text.c_str()));
    CHECK(memcmp(&config, &before, sizeof config) == 0);
}

}  // namespace

TEST_CASE("the defaults are those that are promised", "[config]") {
    const Config standard = default_config();
    CHECK(std::string(standard.out) == "gpushim.%h.%r.%p.db");
    CHECK(standard.log == LogLevel::warn);
    CHECK(standard.device_time == DeviceTime::automatic);
    CHECK(standard.budget_share == 0.01);
    CHECK(standard.max_bytes == int64_t{2048} << 20);
    CHECK(standard.min_free_bytes == int64_t{256} << 20);
    CHECK(standard.legacy_events);
    CHECK_FALSE(standard.stamp_gaps.is_given);
    CHECK(standard.ranks.count == 0);
    CHECK(standard.steps.count == 0);
    CHECK(standard.schedule.active == 0);
    CHECK(standard.delay_s == 0);
    CHECK(standard.duration_s < 0);
    CHECK(standard.capture == CaptureRange::all);
    CHECK(standard.python == PythonLines::automatic);
    CHECK(standard.samples_per_step == 0);
    CHECK(standard.tag[0] == '\0');
}

TEST_CASE("every variable is understood", "[config]") {
    CHECK(std::string(with("GPUSHIM_OUT", "/tmp/%p.db").out) == "/tmp/%p.db");
    CHECK(with("GPUSHIM_LOG", "off").log == LogLevel::off);
    CHECK(with("GPUSHIM_LOG", "debug").log == LogLevel::debug);
    CHECK(with("GPUSHIM_DEVICE_TIME", "cupti").device_time == DeviceTime::cupti);
    CHECK(with("GPUSHIM_BUDGET", "100%").budget_share == 1);
    CHECK(with("GPUSHIM_BUDGET", "0.5%").budget_share == 0.005);
    const StampGapsSetting gaps = with("GPUSHIM_STAMP_GAPS", "900,1100,800,1000").stamp_gaps;
    CHECK(gaps.is_given);
    CHECK(gaps.before_ns == 900);
    CHECK(gaps.before_high_ns == 1100);
    CHECK(gaps.after_ns == 800);
    CHECK(gaps.after_high_ns == 1000);
    CHECK(with("GPUSHIM_MAX_MB", "0").max_bytes == 0);
    CHECK(with("GPUSHIM_MIN_FREE_MB", "3").min_free_bytes == 3 << 20);
    CHECK(!with("GPUSHIM_LEGACY_EVENTS", "0").legacy_events);
    CHECK(with("GPUSHIM_DELAY", "1.5").delay_s == 1.5);
    CHECK(with("GPUSHIM_DURATION", "60").duration_s == 60);
    CHECK(default_config().hang_after_s == 300);
    CHECK(with("GPUSHIM_HANG_AFTER", "0").hang_after_s == 0);
    CHECK(with("GPUSHIM_HANG_AFTER", "2.5").hang_after_s == 2.5);
    CHECK(std::string(with("GPUSHIM_ON_HANG", "page me").on_hang) == "page me");
    CHECK(with("GPUSHIM_PYTHON", "off").python == PythonLines::off);
    CHECK(with("GPUSHIM_CUBLAS", "off").cublas == CublasCalls::off);
    CHECK(default_config().nccl_profiler == NcclProfiler::off);
    CHECK(with("GPUSHIM_NCCL_PROFILER", "network").nccl_profiler == NcclProfiler::network);
    CHECK(with("GPUSHIM_NCCL_PROFILER", "all").nccl_profiler == NcclProfiler::all);
    CHECK(with("GPUSHIM_CUBLAS", "auto").cublas == CublasCalls::automatic);
    CHECK(with("GPUSHIM_CAPTURE", "profiler").capture == CaptureRange::profiler);
    CHECK(with("GPUSHIM_SAMPLES_PER_STEP", "256").samples_per_step == 256);
    CHECK(std::string(with("GPUSHIM_TAG", "lr=0.1,seed=3").tag) == "lr=0.1,seed=3");
    const Config scheduled = with("GPUSHIM_SCHEDULE", "10:2:3:4");
    CHECK(scheduled.schedule.wait == 10);
    CHECK(scheduled.schedule.warmup == 2);
    CHECK(scheduled.schedule.active == 3);
    CHECK(scheduled.schedule.repeat == 4);
}

TEST_CASE("ranks and steps are lists of inclusive ranges", "[config]") {
    const Ranges ranks = with("GPUSHIM_RANKS", "0,8-15").ranks;
    for (const int64_t in : {0, 8, 11, 15}) CHECK(ranks.has(in));
    for (const int64_t out : {1, 7, 16, -1}) CHECK(!ranks.has(out));
    CHECK(Ranges{}.has(-1));
    const Ranges steps = with("GPUSHIM_STEPS", "20:40").steps;
    CHECK(steps.has(20));
    CHECK(steps.has(40));
    CHECK(!steps.has(41));
}

TEST_CASE("what is not understood changes nothing", "[config]") {
    refuses("GPUSHIM_LOG", "loud");
    refuses("GPUSHIM_LOG", "warn ");
    refuses("GPUSHIM_DEVICE_TIME", "Events");
    for (const char* share : {"1", "101%", "-1%", "%", "1%%", "nan%", "1e99%"})
        refuses("GPUSHIM_BUDGET", share);
    for (const char* size : {"", "-1", "1.5", "2 GB", "99999999999999999999", "9223372036854775807"})
        refuses("GPUSHIM_MAX_MB", size);
    for (const char* gaps : {"", "900", "900,1100,800", "900,1100,800,1000,", "1100,900,800,1000",
                             "900,1100,1000,800", "-1,1100,800,1000", "0,0,0,1000001"})
        refuses("GPUSHIM_STAMP_GAPS", gaps);
    for (const char* flag : {"2", "yes", "01"}) refuses("GPUSHIM_LEGACY_EVENTS", flag);
    for (const char* ranks : {"", "a", "1-", "5-3", "1,", ",1", "1-2-3", "1:2"})
        refuses("GPUSHIM_RANKS", ranks);
    for (const char* schedule : {"1:2:3", "1:2:3:4:5", "1:2:0:4", "a:b:c:d"})
        refuses("GPUSHIM_SCHEDULE", schedule);
    for (const char* seconds : {"-1", "soon", "1s", "inf", "nan"}) refuses("GPUSHIM_DELAY", seconds);
    refuses("GPUSHIM_HANG_AFTER", "-1");
    refuses("GPUSHIM_ON_HANG", std::string(1024, 'x'));
    refuses("GPUSHIM_TAG", "no equals");
    refuses("GPUSHIM_NO_SUCH", "1");
}

TEST_CASE("long values are refused, not cut", "[config]") {
    refuses("GPUSHIM_OUT", std::string(1024, 'x'));
    with("GPUSHIM_OUT", std::string(1023, 'x').c_str());
    refuses("GPUSHIM_TAG", "a=" + std::string(1 << 20, 'x'));
    std::string ranks = "0";
    for (int i = 1; i < 64; ++i) ranks += "," + std::to_string(i);
    with("GPUSHIM_RANKS", ranks.c_str());
    refuses("GPUSHIM_RANKS", ranks + ",64");
}

TEST_CASE("the environment is read; an empty variable is none", "[config]") {
    setenv("GPUSHIM_MAX_MB", "7", 1);
    setenv("GPUSHIM_TAG", "", 1);
    setenv("GPUSHIM_LOG", "off", 1);
    setenv("GPUSHIM_BUDGET", "nonsense", 1);
    read_config();
    CHECK(config.max_bytes == 7 << 20);
    CHECK(config.tag[0] == '\0');
    CHECK(config.budget_share == 0.01);
}

TEST_CASE("where CUDA is counts from the root on, if it is not too long", "[config]") {
    setenv("CUDA_HOME", "/opt/cuda", 1);
    setenv("CUDA_PATH", "cuda", 1);
    read_config();
    CHECK(config.cuda_homes[0] == std::string("/opt/cuda"));
    CHECK(config.cuda_homes[1] == std::string());
    unsetenv("CUDA_HOME");
    setenv("CUDA_PATH", ("/" + std::string(1023, 'x')).c_str(), 1);
    read_config();
    CHECK(config.cuda_homes[0] == std::string());
    CHECK(config.cuda_homes[1] == std::string());
}

}  // namespace config_test
