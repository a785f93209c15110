#include "shim/writer/switch_files.h"

#include "trace.h"

namespace switch_files_test {

using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

void put(const std::string& path) { std::fclose(std::fopen(path.c_str(), "w")); }

}  // namespace

TEST_CASE("files beside the trace are seen, and seen to go, within a second", "[switch_files]") {
    trace::Folder folder;
    SwitchFiles files((folder / "trace.db").c_str());
    CHECK(files.look(0) <= kSecond);
    CHECK_FALSE(files.is_off());
    CHECK_FALSE(files.keeps());
    put(folder / "gpushim.off");
    files.look(1);
    CHECK_FALSE(files.is_off());  // not at every pass
    files.look(kSecond);
    CHECK(files.is_off());
    CHECK_FALSE(files.keeps());
    std::filesystem::rename(folder / "gpushim.off", folder / "gpushim.keep");
    files.look(2 * kSecond);
    CHECK_FALSE(files.is_off());
    CHECK(files.keeps());
}

}  // namespace switch_files_test
