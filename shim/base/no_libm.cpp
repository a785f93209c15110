// SQL's mathematical functions, which no statement of the shim uses: without them SQLite would have every
// process that is started with the preload map libm. Hidden.
extern "C" __attribute__((visibility("hidden"), used)) double gpushim_no_number() {
    return __builtin_nan("");
}
#define NO_NUMBER(name) asm(".globl " #name "\n.hidden " #name "\n.set " #name ", gpushim_no_number\n")
NO_NUMBER(acos);
NO_NUMBER(acosh);
NO_NUMBER(asin);
NO_NUMBER(asinh);
NO_NUMBER(atan);
NO_NUMBER(atan2);
NO_NUMBER(atanh);
NO_NUMBER(cos);
NO_NUMBER(cosh);
NO_NUMBER(exp);
NO_NUMBER(fmod);
NO_NUMBER(log);
NO_NUMBER(pow);
NO_NUMBER(sin);
NO_NUMBER(sinh);
NO_NUMBER(sqrt);
NO_NUMBER(tan);
NO_NUMBER(tanh);
NO_NUMBER(trunc);
