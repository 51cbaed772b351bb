"""Calls one way into quern so many times, with the null driver: loop.py WAY COUNT."""
import sys

import cost_tensor

import quern

FLOAT, INT = 2, 0
x = cost_tensor.tensor(FLOAT, 32, 2, 64, 128)
index = cost_tensor.tensor(INT, 64, 1, 16, 1)
y = cost_tensor.tensor(FLOAT, 32, 2, 16, 128)
plan = quern.prepare("gather width=128 dtype=f32")
launch, gather = plan.launch, quern.gather


def nothing(x, index, y):
    pass


WAYS = {
    "nothing": lambda: nothing(x, index, y),
    "plan.launch": lambda: launch(x, index, y),
    "function, out given": lambda: gather(x, index, out=y),
    "function, out made": lambda: gather(x, index),
}

if __name__ == "__main__":
    way = WAYS[sys.argv[1]]
    for _ in range(int(sys.argv[2])):
        way()
