"""Runs end-to-end tests by name, wherever in test/e2e they lie.

    python3 -B test/e2e/tools -v test_words.Words
"""
import sys
import unittest

import folders

sys.path[1:1] = folders.of_tests()
unittest.main(module=None)
