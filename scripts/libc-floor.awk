# Names of a C library as `version kind size name` to an assembler's text of the library `file`, as it was in
# version `floor`. A `# NODE` line names each version that is used.

function is_newer(one, other,    a, b, i, parts) {
    parts = split(one, a, ".")
    if (split(other, b, ".") > parts) parts = split(other, b, ".")
    for (i = 1; i <= parts; ++i)
        if (a[i] + 0 != b[i] + 0) return a[i] + 0 > b[i] + 0
    return 0
}

# Up to 2.34 libc took in what had been in files of its own: a name that moved has a version of both places.
function home_of(name) {
    if (!(name in moved)) return "libc.so.6"
    if (name ~ /^dl/) return "libdl.so.2"
    if (name ~ /^(pthread_|__pthread_|sem_|thrd_|mtx_|cnd_|tss_|call_once)/) return "libpthread.so.0"
    # librt, libutil, libanl, libresolv: nothing is linked with these.
    if (name ~ /^(aio_|lio_|mq_|shm_|timer_|openpty|forkpty|log|gai_|getaddrinfo_a|_*(res|ns|dn)_)/) return ""
    return "libc.so.6"
}

is_newer($1, floor) {
    newer[$4]
    next
}
!($4 in version) || is_newer($1, version[$4]) {
    version[$4] = $1
    kind[$4] = $2
    size[$4] = $3
}

END {
    print ".section .note.GNU-stack,\"\",%progbits"
    for (name in newer)
        if (name in version) moved[name]
    for (name in version) {
        if (file ~ /^lib[^m]/ && home_of(name) != file) continue
        label = "stub_" ++count
        print "# NODE GLIBC_" version[name]
        print (kind[name] == "OBJECT" ? ".bss" : ".text")
        print ".globl " label
        print ".type " label ", " (kind[name] == "OBJECT" ? "%object" : "%function")
        print ".size " label ", " (kind[name] == "OBJECT" ? size[name] : 1)
        print label ":"
        print (kind[name] == "OBJECT" ? ".skip " size[name] : ".skip 1")
        print ".symver " label ", " name "@@GLIBC_" version[name] ", remove"
    }
}
