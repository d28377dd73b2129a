"""Sum-product belief propagation by PGMax (JAX) on the CPU.

PGMax 0.6.1 asks ``jax.lib.xla_bridge`` for the platform, a name that current JAX has dropped; it is put back before
the import. Messages are float32, as PGMax makes them. Damping, on by default there, is switched off: one iteration is
then one flooding sweep.
"""

import functools
import types

import jax
import jax.extend.backend
import jax.lib
import numpy as np

if not hasattr(jax.lib, "xla_bridge"):
    jax.lib.xla_bridge = types.SimpleNamespace(get_backend=jax.extend.backend.get_backend)

from pgmax import fgraph, fgroup, infer, vgroup


def build(edges, priors, potentials):
    """Arrays in, ready-to-run arrays out.

    Parameters
    ----------
    edges : int [E, 2]
    priors : float [N, K], > 0
    potentials : float [K, K] or [E, K, K], > 0

    Returns
    -------
    variables, bp, arrays : PGMax's group of variables, its inference functions, and what they run on
    """
    variables = vgroup.NDVarArray(num_states=priors.shape[1], shape=(len(priors),))
    names = variables[:]
    graph = fgraph.FactorGraph(variable_groups=[variables])
    graph.add_factors(
        fgroup.PairwiseFactorGroup(
            variables_for_factors=[[names[i], names[j]] for i, j in edges.tolist()],
            log_potential_matrix=np.log(potentials),
        )
    )
    bp = infer.build_inferer(graph.bp_state, backend="bp")
    arrays = bp.init(evidence_updates={variables: np.log(priors)})
    jax.block_until_ready((arrays.log_potentials, arrays.ftov_msgs, arrays.evidence))
    return variables, bp, arrays


def sweeper(bp, arrays):
    """A function that runs `n_sweeps` flooding sweeps from uniform messages; compiled anew for every `n_sweeps`."""

    @functools.partial(jax.jit, static_argnames="n_sweeps")
    def run(arrays, n_sweeps):
        return bp.run(arrays, num_iters=n_sweeps, damping=0.0, temperature=1.0)

    return lambda n_sweeps: jax.block_until_ready(run(arrays, n_sweeps))


def beliefs(variables, bp, arrays):
    """[N, K] probabilities, float64."""
    return np.asarray(infer.get_marginals(bp.get_beliefs(arrays))[variables], dtype=np.float64)
