"""A kernel that is compiled for several kinds of arrays makes everybody wait at first use, and once more later."""

import json
import os
import subprocess
import sys

SCRIPT = """
import json, sys, warnings
import numpy as np
import keyplayers as kp
from numba.core.dispatcher import Dispatcher

warnings.simplefilter("ignore")
pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4), (4, 5)]
named = [(f"v{a}", f"v{b}") for a, b in pairs]
fields = [
    kp.MarkovRandomField.from_edges(pairs, {0: [0.2, 0.8]}, homophily=0.8),
    kp.MarkovRandomField.from_edges(np.array(pairs), np.ones((6, 3)), homophily=0.7),
    kp.MarkovRandomField.from_edges(named, homophily=0.8).observe({"v0": 1}),
    kp.MarkovRandomField.from_edges(named, {"v0": [1, 2]}, potential=[[1, 0], [0.3, 0.7]]),
    kp.MarkovRandomField.from_edges(pairs[:3], {0: [0.2, 0.8]}, homophily=0.8),
]
for mrf in fields:
    for schedule in ("auto", "flooding", "sequential", "residual"):
        state = kp.belief_propagation(mrf, schedule=schedule, damping=0.1 * (schedule != "auto"))
    state.log_partition, state.map(), kp.exact_marginals(mrf).map()
    for method in ("enumeration", "sampling"):
        explainer = kp.GraphShapley.as_published(mrf, method=method, max_evals=500)
        explainer.explain(mrf.names[1], random_state=0)
compiled = {
    f"{module}.{name}": [str(signature) for signature in kernel.signatures]
    for module, loaded in list(sys.modules.items())
    if module.startswith("keyplayers.") and module.endswith("_kernels")
    for name, kernel in vars(loaded).items()
    if isinstance(kernel, Dispatcher)
}
print(json.dumps(compiled))
"""


def test_kernels_are_compiled_for_one_kind_of_arrays():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    compiled = json.loads(done.stdout)
    assert sum(map(bool, compiled.values())) > 15
    assert {name: signatures for name, signatures in compiled.items() if len(signatures) > 1} == {}
