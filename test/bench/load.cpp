// Keeps the shim busy: threads that launch at a rate, or as fast as they can, for so many seconds. Prints how
// many launches that were, how long they took, and how long all other threads of the process (the shim's) ran
// on a processor meanwhile and waited for one.
//
//   load THREADS RATE SECONDS      RATE: launches per second and thread; 0: no limit
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

namespace {

int64_t launch_for(const bench::Driver& driver, int64_t rate, int64_t until_ns) {
    const int64_t begin_ns = bench::now_ns();
    const int64_t every_ns = rate == 0 ? 0 : 1'000'000'000 / rate;
    int64_t launches = 0;
    for (int64_t now_ns = begin_ns; now_ns < until_ns; now_ns = bench::now_ns()) {
        if (now_ns < begin_ns + launches * every_ns) continue;
        const int at_once = rate == 0 ? 64 : 1;  // reading the time would be most of it
        for (int i = 0; i < at_once; ++i) driver.launch(driver.through);
        launches += at_once;
    }
    return launches;
}

struct Scheduled {
    int64_t ran_ns = 0;     // on a processor
    int64_t waited_ns = 0;  // ready to run, while others did
};

// Of all threads but the one given.
Scheduled scheduled(const std::string& but) {
    Scheduled sum;
    DIR* tasks = opendir("/proc/self/task");
    while (const dirent* task = readdir(tasks)) {
        const std::string tid = task->d_name;
        if (tid[0] == '.' || tid == but) continue;
        long long ran_ns = 0, waited_ns = 0;
        if (FILE* file = std::fopen(("/proc/self/task/" + tid + "/schedstat").c_str(), "r")) {
            if (std::fscanf(file, "%lld %lld", &ran_ns, &waited_ns) != 2) ran_ns = waited_ns = 0;
            std::fclose(file);
        }
        sum.ran_ns += ran_ns;
        sum.waited_ns += waited_ns;
    }
    closedir(tasks);
    return sum;
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) return 2;
    const int threads = std::atoi(words[1]);
    const int64_t rate = std::atoll(words[2]), seconds = std::atoll(words[3]);
    bench::Driver driver;
    driver.start();
    const std::string main_thread = std::to_string(getpid());
    const Scheduled before = scheduled(main_thread);
    const int64_t begin_ns = bench::now_ns();
    std::atomic<int64_t> launches = 0;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back(
            [&] { launches += launch_for(driver, rate, begin_ns + seconds * 1'000'000'000); });
    for (std::thread& thread : running) thread.join();
    const int64_t wall_ns = bench::now_ns() - begin_ns;
    usleep(200'000);  // the writer takes what is left
    const Scheduled after = scheduled(main_thread);
    const int64_t drained_ns = bench::now_ns() - begin_ns;
    std::printf("launches %lld wall_ns %lld drained_ns %lld writer_ns %lld writer_waited_ns %lld\n",
                static_cast<long long>(launches.load()), static_cast<long long>(wall_ns),
                static_cast<long long>(drained_ns), static_cast<long long>(after.ran_ns - before.ran_ns),
                static_cast<long long>(after.waited_ns - before.waited_ns));
    return 0;
}
