"""Bugs that were found by reading and by use, one test each."""
import unittest

import ml_dtypes
import numpy as np
from support import *  # noqa: F403

import quern


class Bugs(Case):
    def test_a_given_results_type_is_not_the_next_calls(self):
        x = numbers(4, 64)
        out, scales = np.empty((4, 64), ml_dtypes.float8_e5m2), np.empty((4, 2), ml_dtypes.float8_e8m0fnu)
        quern.mxfp8(x, out=out, scales=scales)
        self.assertEqual(quern.mxfp8(x)[0].dtype, ml_dtypes.float8_e4m3fn)

    def test_leading_dimensions_are_of_an_extent_not_of_a_number(self):
        x = numbers(2, 3, 4)
        for count in (5, 6, 7):  # 6 is also the number of rows
            self.assertEqual(quern.gather(x, np.zeros(count, np.int64)).shape, (count, 4))

    def test_a_packed_array_of_another_stride_is_refused(self):
        plan = quern.prepare("gather width=3 dtype=f32 source_stride=4")
        self.refused(quern.Error, "strides [3, 1]; this problem takes strides [4, 1]", plan.launch,
                     np.ones((4, 3), np.float32), np.array([1]), np.empty((1, 3), np.float32))

    def test_a_copy_that_dlpack_makes_lives_through_the_call(self):
        class Copying:
            def __init__(self, array):
                self.array = array

            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **words):
                return (self.array + 0).__dlpack__()
        x, out = numbers(4000, 256), np.empty((4000, 256), np.float32)
        index = np.arange(4000)
        quern.gather(Copying(x), index, out=out)
        self.same(out, x)


if __name__ == "__main__":
    unittest.main()
