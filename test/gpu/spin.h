// PTX of kernels that wait on the device's own timer, as pieces of a string: PTX_HEAD PTX_SPIN("name", "ns").
// A simulated GPU runs no PTX: there the name says how long the kernel takes.
#pragma once

#define PTX_HEAD      \
    ".version 6.0\n"  \
    ".target sm_50\n" \
    ".address_size 64\n"

#define PTX_EMPTY(name)     \
    ".visible .entry " name \
    "()\n"                  \
    "{\n"                   \
    "    ret;\n"            \
    "}\n"

#define PTX_SPIN(name, ns) PTX_SPIN_AROUND(name, ns, "", "")

// `before` and `after` the wait: more instructions.
#define PTX_SPIN_AROUND(name, ns, before, after) \
    ".visible .entry " name                      \
    "()\n"                                       \
    "{\n"                                        \
    "    .reg .u64 %begin, %now, %passed;\n"     \
    "    .reg .pred %early;\n" before            \
    "    mov.u64 %begin, %globaltimer;\n"        \
    "again:\n"                                   \
    "    mov.u64 %now, %globaltimer;\n"          \
    "    sub.u64 %passed, %now, %begin;\n"       \
    "    setp.lt.u64 %early, %passed, " ns       \
    ";\n"                                        \
    "    @%early bra again;\n" after             \
    "    ret;\n"                                 \
    "}\n"
