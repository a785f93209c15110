// A libcuda with nothing in it but one name, and no versions.
int cuInit(unsigned flags);
int cuInit(unsigned flags) { return flags == 0 ? 42 : 1; }
