"""The first example, on the CPU."""
import numpy
import quern

quern.set_device("host")
x = numpy.arange(12, dtype=numpy.float32).reshape(4, 3)
index = numpy.array([2, 0, 3], dtype=numpy.int64)
y = quern.gather(x, index)
print(y)
assert (numpy.asarray(y) == x[index]).all()
