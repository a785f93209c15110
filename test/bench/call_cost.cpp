// What a hooked launch costs beside the same launch past the shim and beside one with two time stamps around
// it. Prints names and nanoseconds of what was measured.
//
//   call_cost dark | hot | cold    before anything is recorded; while recording; then with other data in the
//   caches call_cost instructions         each of the three runs 1000 times, for a tool that counts
#include <string_view>

#include "ways.h"

int main(int count, char** words) {
    const std::string_view what = count > 1 ? words[1] : "";
    bench::Driver driver;
    std::vector<bench::Way> ways = {{"plain", bench::launch_plain, {}},
                                    {"stamped", bench::launch_stamped, {}},
                                    {"through", bench::launch_through, {}}};
    if (what != "dark") driver.start();
    for (int i = 0; i < 100; ++i) driver.launch(driver.through);
    if (what == "instructions") {
        for (bench::Way& way : ways) way.launch(driver, 1000);
        return 0;
    }
    if (what == "cold") {
        bench::make_far_places();
        ways.push_back({"walked", bench::launch_and_walk, {}});
        bench::measure_cold(driver, ways);
    } else {
        bench::measure_bursts(driver, ways, what == "hot");
    }
    bench::print(ways);
    return 0;
}
