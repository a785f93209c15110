// A process that makes a context, launches a few times and ends.
#include "driver.h"

int main() {
    bench::Driver driver;
    driver.start();
    for (int i = 0; i < 3; ++i)
        if (driver.launch(driver.through) != CUDA_SUCCESS) return 1;
    return 0;
}
