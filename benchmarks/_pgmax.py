"""Sum-product belief propagation by PGMax (JAX) on the CPU.

PGMax 0.6.1 asks ``jax.lib.xla_bridge`` for the platform, a name that current JAX has dropped; it is put back
before the import. Messages are float32, as PGMax makes them. Damping, on by default there, is switched off: one
iteration is then one flooding sweep.
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
    """A function that runs `n_sweeps` flooding sweeps from uniform messages; compiles once per `n_sweeps`."""

    @functools.partial(jax.jit, static_argnames="n_sweeps")
    def run(arrays, n_sweeps):
        return bp.run(arrays, num_iters=n_sweeps, damping=0.0, temperature=1.0)

    return lambda n_sweeps: jax.block_until_ready(run(arrays, n_sweeps))


def exact_beliefs(variables, bp, arrays, priors, potentials, n_sweeps):
    """[N, K] probabilities after flooding sweeps with `potentials` [E, K, K], by the same functions in doubles.

    In float32 the sum over a hub's neighbours is off by more than comparisons should allow.
    """
    jax.clear_caches()
    with jax.enable_x64(True):
        doubles = infer.bp_state.BPArrays(
            log_potentials=jax.numpy.asarray(np.log(potentials).ravel()),
            ftov_msgs=jax.numpy.zeros(arrays.ftov_msgs.shape),
            evidence=jax.numpy.asarray(np.log(priors).ravel()),
        )
        messages = sweeper(bp, doubles)(n_sweeps)
        beliefs = np.asarray(infer.get_marginals(bp.get_beliefs(messages))[variables])
    jax.clear_caches()  # traces made in one precision must not be met in the other
    return beliefs
