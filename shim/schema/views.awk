# The views of a trace as the SQL that stands in it. The words come from flags.h, which is read first:
# `ran(l.flags)` is the question kRan, `captured(l.flags)` is the bit kRowCaptured as 0 or 1, and
# `is_captured(l.flags)` is the same bit as a condition.
function word_of(name) {
    while (match(name, /[a-z][A-Z]/)) name = substr(name, 1, RSTART) "_" substr(name, RSTART + 1)
    return tolower(name)
}

function sum_of(bits, names, sum, i) {
    for (i = split(bits, names, / *[|] */); i > 0; --i) sum += names[i] in bit ? bit[names[i]] : names[i]
    return sum + 0
}

/^constexpr int64_t kRow/ {
    sub(/;.*/, "")
    bit[$3] = $5
    name = word_of(substr($3, 5))
    after["is_" name] = " & " $5
    before[name] = $5 == 1 ? "" : "("
    after[name] = " & " $5 ($5 == 1 ? "" : ") / " $5)
}
/^constexpr FlagTest k/ {
    split($0, parts, /[{},] */)
    after[word_of(substr($3, 2))] = " & " sum_of(parts[2]) " = " sum_of(parts[3])
}
FILENAME ~ /\.h$/ { next }
{
    line = ""
    while (match($0, /[a-z_]+\(([a-z]+\.)?flags\)/)) {
        split(substr($0, RSTART, RLENGTH), call, /[()]/)
        if (!(call[1] in after)) { print FILENAME ":" FNR ": flags.h has no " call[1] >"/dev/stderr"; exit 1 }
        line = line substr($0, 1, RSTART - 1) before[call[1]] call[2] after[call[1]]
        $0 = substr($0, RSTART + RLENGTH)
    }
    print line $0
}
