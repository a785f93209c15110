// Registers an image before main, as every program of nvcc does, and calls nothing.
#define IMAGE_CODE ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry unused() { ret; }\n"
#include "image.h"

KERNEL(unused)

int main() {}
