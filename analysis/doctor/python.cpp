// Whether lines of Python would be read: whether somebody asked for none, and whether the kernel lets a
// process read its own memory. Which interpreter it is, a trace tells.
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "check.h"

namespace gpushim::analysis::check_python {

namespace {

void look(const Examined&, std::vector<CheckFinding>& findings) {
    const char* const asked = std::getenv("GPUSHIM_PYTHON");
    if (asked != nullptr && std::strcmp(asked, "off") == 0)
        return findings.push_back(
            {CheckVerdict::limited, "python", "GPUSHIM_PYTHON=off: lines of Python are not read; unset it"});
    char from = 1, to = 0;
    const iovec here = {&to, 1}, there = {&from, 1};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1)
        return findings.push_back({CheckVerdict::limited, "python",
                                   std::string("lines of Python are not read: process_vm_readv returned ") +
                                       std::strerror(errno) + "; in a container, allow that call"});
    findings.push_back({CheckVerdict::fine, "python", "lines are read of CPython 3.9 to 3.14"});
}

constexpr Check kCheck = {45, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_python
