#include "shim/harvest/cupti_library.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace cupti_library_test {

using gpushim::shim::cupti_places;

namespace {

long place_of(const std::vector<std::string>& places, const std::string& wanted) {
    const auto found = std::find(places.begin(), places.end(), wanted);
    return found == places.end() ? -1 : found - places.begin();
}

}  // namespace

TEST_CASE("CUPTI is looked for beside NVIDIA's packages in the process, by name, in toolkits", "[cupti]") {
    const std::string site = "/venv/lib/python3.11/site-packages/nvidia/";
    const auto places = cupti_places({"", "/usr/lib/libc.so.6", site + "cu13/lib/libcudart.so.13"},
                                     {"/opt/cuda", "/usr/local/cuda"});
    // The program's own: a machine's CUDA may be another.
    CHECK(place_of(places, site + "cu13/lib/libcupti.so.13") == 0);
    const long named = place_of(places, "libcupti.so.13");
    const long own = place_of(places, "/opt/cuda/extras/CUPTI/lib64/libcupti.so.13");
    const long usual = place_of(places, "/usr/local/cuda/lib64/libcupti.so.13");
    const long older = place_of(places, site + "cuda_cupti/lib/libcupti.so.12");
    CHECK((0 < older && older < named && named < own && own < usual));
}

TEST_CASE("a folder is looked into once, and nothing but those", "[cupti]") {
    const std::string package = "/site/nvidia/cublas/lib/libcublas.so.12";
    const auto once = cupti_places({package}, {}), twice = cupti_places({package, package}, {});
    CHECK(once == twice);
    CHECK(cupti_places({"/opt/libcublas.so"}, {}) ==
          std::vector<std::string>{"libcupti.so.13", "libcupti.so.12"});
}

}  // namespace cupti_library_test
