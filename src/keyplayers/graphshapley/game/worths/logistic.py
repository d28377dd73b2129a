"""Bounds on the derivatives of the logistic function, which the derivatives of most worths are made of."""

import numpy as np

# sup |p^(k)|, k = 1 .. 6, p(l) = 1/(1 + exp(-l))
DERIVATIVES = np.array([0.25, 0.0962251, 0.125, 0.127684, 0.25, 0.408328])
# sup |p^(k)(l) l| is at most this times sup |p^(k)(l)|: far out p is flat
REACH = 1.7
