#include "shim/machine/nvml.h"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "box.h"
#include "engine/box_state.h"
#include "engine/clock.h"
#include "shim/calls/resolve.h"
#include "shim/machine/devices.h"
#include "shim/machine/nvml_keys.h"
#include "shim/machine/nvml_sampler.h"
#include "shim/ring/clock.h"
#include "shim/ring/process_state.h"
#include "shim/schema/rows.h"
#include "trace.h"

namespace nvml_observer_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Row {
    int64_t mono_ns;
    int64_t device;
    bool operator<(const Row& other) const {
        return std::tie(mono_ns, device) < std::tie(other.mono_ns, other.device);
    }
};
using Samples = std::map<Row, std::map<std::string, int64_t>>;

// An observer on the box's NVML, under its stepped clock.
class Observed {
  public:
    explicit Observed(std::vector<Device> devices) : devices_(std::move(devices)) {
        page_.clock_kind = choose_clock();
        REQUIRE(page_.clock_kind == kTestClock);
        process_state = &page_;
        start_nvml_sampler(devices_);
        observer_ = make_nvml_observer(devices_);
    }
    ~Observed() { observer_.reset(); }

    // Moves the clock there; what came of it is kept as the store would.
    int64_t look_at(int64_t mono_ns) {
        gpusim::clock::work_until(mono_ns);
        const int64_t next_ns = observer_->look({mono_ns, mono_ns, false});
        for (Rows* rows : observer_->rows()) {
            for (size_t i = 0; i < rows->count(); ++i) keep(*rows, rows->row(i));
            rows->clear();
        }
        return next_ns;
    }
    void context_on(uint64_t device) {
        const uint16_t api = trace::api("cuDevicePrimaryCtxRetain");
        Event event = {};
        event.slot.api = api;
        event.slot.kind = static_cast<uint8_t>(api_traits[api].kind);
        event.slot.word[2] = device;
        event.exit_ns = 1;
        observer_->stored({&event, 1}, {});
    }
    Samples samples;
    std::vector<std::string> links;

  private:
    void keep(const Rows& rows, const int64_t* row) {
        if (std::string(rows.table()) == "nvml") {
            const std::string& key = *rows.text_of(column::nvml::key, row[column::nvml::key]);
            const auto value = std::bit_cast<double>(row[column::nvml::value]);
            samples[{row[0], row[1]}][key] = static_cast<int64_t>(value);
            return;
        }
        std::string text = std::to_string(row[0]) + (row[1] == kNull ? "" : ">" + std::to_string(row[1]));
        text += " " + *rows.text_of(column::topology::link, row[column::topology::link]);
        for (const int column : {3, 4})
            text += row[column] == kNull ? " -" : " " + std::to_string(row[column]);
        links.push_back(text);
    }

    static inline ProcessState page_ = {};  // the thread may look at it for longer than the case lasts
    std::vector<Device> devices_;
    std::unique_ptr<Observer> observer_;
};

std::vector<Device> devices_of_the_box() {
    REQUIRE(reinterpret_cast<int (*)(unsigned)>(driver_function("cuInit"))(0) == 0);
    std::array<Device, kMostDevices> all;
    return {all.begin(), all.begin() + static_cast<long>(describe_devices(all))};
}

bool has(const std::vector<std::string>& links, const std::string& link) {
    return std::find(links.begin(), links.end(), link) != links.end();
}

std::string content_of(const char* path) {
    std::ifstream file(path);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// look    10.0   10.1  10.2  10.9 11.0      11.4 12.7      13.0
// sample                x          x              x (late)  x (on the grid again)
TEST_CASE("NVML is asked soon after the first look and at whole seconds after it", "[nvml]") {
    box::knobs("GPUSIM_CLOCK=stepped");
    Observed observed(devices_of_the_box());
    CHECK(observed.look_at(10 * kSecond) == 200'000'000);
    CHECK(observed.look_at(10 * kSecond + 100'000'000) == 100'000'000);
    CHECK(observed.samples.empty());
    CHECK(observed.look_at(10 * kSecond + 200'000'000) == 800'000'000);
    CHECK(observed.look_at(10 * kSecond + 900'000'000) == 100'000'000);
    CHECK(observed.look_at(11 * kSecond) == kSecond);
    CHECK(observed.look_at(11 * kSecond + 400'000'000) == 600'000'000);
    CHECK(observed.look_at(12 * kSecond + 700'000'000) == 300'000'000);
    CHECK(observed.look_at(13 * kSecond) == kSecond);
    std::vector<int64_t> times;
    for (const auto& [row, keys] : observed.samples) times.push_back(row.mono_ns);
    CHECK(times == std::vector<int64_t>{10 * kSecond + 200'000'000, 11 * kSecond, 12 * kSecond + 700'000'000,
                                        13 * kSecond});
}

// compute 10 |#####.....| 11     half of the second before the sample; copies a tenth of it
TEST_CASE("a sample has what NVML says of that moment", "[nvml]") {
    box::knobs(
        "GPUSIM_CLOCK=stepped GPUSIM_POWER_W=470 GPUSIM_TEMP_C=70 GPUSIM_SM_MHZ=1500 GPUSIM_THROTTLE=4");
    using gpusim::Engine;
    Observed observed(devices_of_the_box());
    observed.look_at(10 * kSecond);
    gpusim::box::count_busy(0, Engine::compute, 10 * kSecond, 10 * kSecond + kSecond / 2);
    gpusim::box::count_busy(0, Engine::copy, 10 * kSecond, 10 * kSecond + kSecond / 10);
    observed.look_at(11 * kSecond);
    const auto& seen = observed.samples[{11 * kSecond, 0}];
    const std::map<std::string, int64_t> expected = {{"gpu_busy_percent", 50},
                                                     {"memory_busy_percent", 10},
                                                     {"memory_used_bytes", 0},
                                                     {"memory_total_bytes", 16LL << 30},
                                                     {"power_mw", 70'000 + 400'000 / 2},
                                                     {"energy_mj", 70'000 * 11 + 400'000 / 2},
                                                     {"power_limit_mw", 700'000},
                                                     {"sm_mhz", 1500},
                                                     {"memory_mhz", 2619},
                                                     {"temperature_c", 50},
                                                     {"memory_temperature_c", 58},
                                                     {"encoder_busy_percent", 0},
                                                     {"decoder_busy_percent", 0},
                                                     {"throttle_reasons", 4},
                                                     {"pcie_sent_kb_per_s", 0},
                                                     {"pcie_received_kb_per_s", 0},
                                                     {"nvlink_sent_kib", 0},
                                                     {"nvlink_received_kib", 0},
                                                     {"performance_state", 0},
                                                     {"ecc_uncorrected", 0}};
    CHECK(seen == expected);
}

TEST_CASE("devices are told apart by what they are, not by their numbers", "[nvml]") {
    box::knobs("GPUSIM_CLOCK=stepped GPUSIM_DEVICES=3");
    std::vector<Device> devices = devices_of_the_box();
    std::swap(devices[0], devices[1]);
    for (int i = 0; i < 3; ++i) devices[static_cast<size_t>(i)].ordinal = i;
    SECTION("by UUID") { std::strcpy(devices[0].pci, "0000:77:00.0"); }
    SECTION("else by address") { std::strcpy(devices[0].uuid, "GPU-of another kind"); }
    std::strcpy(devices[2].uuid, "GPU-unknown");
    std::strcpy(devices[2].pci, "0000:77:00.0");
    Observed observed(devices);
    observed.look_at(10 * kSecond);
    gpusim::box::count_busy(1, gpusim::Engine::compute, 10 * kSecond, 11 * kSecond);
    observed.look_at(11 * kSecond);
    CHECK(observed.samples.size() == 2);
    CHECK(observed.samples[{11 * kSecond, 0}]["gpu_busy_percent"] == 100);
    CHECK(observed.samples[{11 * kSecond, 1}]["gpu_busy_percent"] == 0);
}

TEST_CASE("only devices with a context are asked, where one is known", "[nvml]") {
    box::knobs("GPUSIM_CLOCK=stepped GPUSIM_DEVICES=3");
    Observed observed(devices_of_the_box());
    observed.look_at(10 * kSecond);
    observed.look_at(11 * kSecond);
    observed.context_on(2);
    observed.look_at(12 * kSecond);
    CHECK(observed.samples.count({11 * kSecond, 0}) == 1);
    CHECK(observed.samples.count({12 * kSecond, 0}) == 0);
    CHECK(observed.samples.count({12 * kSecond, 2}) == 1);
}

TEST_CASE("what connects devices is told once", "[nvml]") {
    box::knobs("GPUSIM_CLOCK=stepped GPUSIM_DEVICES=3");
    Observed observed(devices_of_the_box());
    for (int64_t second = 10; second < 13; ++second) observed.look_at(second * kSecond);
    CHECK(std::count(observed.links.begin(), observed.links.end(), "0>1 one switch - -") == 1);
    CHECK(has(observed.links, "0>2 NUMA node - -"));
    CHECK(has(observed.links, "2>0 nvlink 4.0 18 478116000000"));
    CHECK(has(observed.links, "1 pcie 5 16 63008000000"));
    CHECK(has(observed.links, "1 numa node 0 - -"));
}

TEST_CASE("devices without NVLink have their place on the bus", "[nvml]") {
    box::knobs("GPUSIM_CLOCK=stepped GPUSIM_DEVICES=2 GPUSIM_TOPOLOGY=pcie");
    Observed observed(devices_of_the_box());
    for (int64_t second = 10; second < 12; ++second) observed.look_at(second * kSecond);
    CHECK(has(observed.links, "0>1 one switch - -"));
    for (const std::string& link : observed.links) CHECK(link.find("nvlink") == std::string::npos);
    const auto& seen = observed.samples[{11 * kSecond, 0}];
    CHECK(seen.count("power_mw") == 1);
    CHECK(seen.count("nvlink_sent_kib") == 0);
}

TEST_CASE("every key has its line in the documentation and its column in the view", "[nvml]") {
    const std::string lines = content_of("shim/schema/README.md");
    const std::string views = content_of("shim/schema/views.sql");
    for (const NvmlKey& key : nvml_keys()) {
        INFO(key.name);
        CHECK(lines.find("| `" + std::string(key.name) + "` | " + key.unit + " |") != std::string::npos);
        CHECK(views.find("'" + std::string(key.name) + "'") != std::string::npos);
    }
}

}  // namespace nvml_observer_test
