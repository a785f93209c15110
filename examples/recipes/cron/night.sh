#!/bin/sh
night=$(date +%F)
gpushim run -o "$night/" -- python3 train.py >"$night.log" 2>&1
code=$?
gpushim report --html "$night.html" "$night" >"$night.txt"
exit "$code"
