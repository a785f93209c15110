#include "shim/base/unknown_settings.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "shim/base/config.h"
#include "shim/writer/settings_check.h"

namespace unknown_settings_test {

using namespace gpushim::shim;

namespace {

std::string to_int64(const std::string& name) {
    const char* found = nearest_setting(name.data(), name.size());
    return found != nullptr ? found : "";
}

using Complaints = std::vector<std::string>;

Complaints complaints() {
    Complaints all;
    gpushim_check_settings(
        [](void* to, int is_name, const char* name, const char* said) {
            static_cast<Complaints*>(to)->push_back((is_name != 0 ? "name " : "value ") + std::string(name) +
                                                    said);
        },
        &all);
    return all;
}

}  // namespace

TEST_CASE("the name that was meant", "[settings]") {
    CHECK(to_int64("GPUSHIM_BUGDET") == "GPUSHIM_BUDGET");
    CHECK(to_int64("GPUSHIM_MAXMB") == "GPUSHIM_MAX_MB");
    CHECK(to_int64("GPUSHIM_RANK") == "GPUSHIM_RANKS");
    CHECK(to_int64("GPUSHIM_OUTPUT") == "GPUSHIM_OUT");
    CHECK(to_int64("GPUSHIM_LOG_LEVEL") == "GPUSHIM_LOG");
    CHECK(to_int64("GPUSHIM_out") == "GPUSHIM_OUT");
    CHECK(to_int64("GPUSHIM_DISABLED") == "GPUSHIM_DISABLE");
}

TEST_CASE("what is near to none", "[settings]") {
    for (const char* name : {"GPUSHIM_TRICKS", "GPUSHIM_X", "GPUSHIM_", "GPUSHIM_TOP_SPEED"})
        CHECK(to_int64(name) == "");
    CHECK(to_int64("GPUSHIM_" + std::string(100000, 'T')) == "");
}

TEST_CASE("names and values of the environment are complained of", "[settings]") {
    setenv("GPUSHIM_BUGDET", "5%", 1);
    setenv("GPUSHIM_BUDGET", "5", 1);
    setenv("GPUSHIM_OUT", "/dev/null", 1);
    setenv("GPUSHIM_LOG", "", 1);
    setenv("GPUSHIM_BUILD", "build", 1);
    const Complaints said = complaints();
    REQUIRE(said.size() == 3);
    CHECK(said[0] == "value GPUSHIM_BUDGET=5 is not understood (wanted: a share such as 1%)");
    CHECK(said[1].find("value GPUSHIM_OUT=/dev/null is a device (wanted: ") == 0);
    CHECK(said[2] == "name GPUSHIM_BUGDET is not a variable of gpushim; did you mean GPUSHIM_BUDGET?");
}

TEST_CASE("an environment without a mistake is not complained of", "[settings][alone]") {
    setenv("GPUSHIM_OUT", "%h/%p.db", 1);
    setenv("GPUSHIM_DISABLE", "1", 1);
    CHECK(complaints().empty());
}

TEST_CASE("every row of the table is known, and is its own nearest name", "[settings]") {
    for (const SettingRow& row : settings()) {
        INFO(row.name);
        if (*row.wanted != '\0') CHECK(to_int64(row.name) == row.name);
    }
}

}  // namespace unknown_settings_test
