"""Mutated files by the thousand, by hand: every one is read or refused with an error of ours.

python tests/readers/fuzz.py --inputs 200000 --seconds 600 [uai bif xmlbif fg edges evidence]
"""

import argparse
import random
import tempfile
import time
import warnings
from pathlib import Path

import keyplayers as kp
from keyplayers.readers.edge_files import read_priors
from keyplayers.readers.evidence import read_evidence
from tests.readers.test_models import BIF, FG, UAI, XMLBIF

EDGES = "source,target,type\na,b,x\nb,c,y\nc,7,x\n"
EVIDENCE = "name,state\na,1\nb,0\n"
PRIORS = "name,no,yes\na,.1,.9\nb,1,0\n"
FIELD = kp.MarkovRandomField.from_edges([("a", "b"), ("b", "c")], homophily=0.8)
READERS = {
    "uai": ("x.uai", UAI, kp.read_mrf),
    "bif": ("x.bif", BIF, kp.read_mrf),
    "xmlbif": ("x.xmlbif", XMLBIF, kp.read_mrf),
    "fg": ("x.fg", FG, kp.read_mrf),
    "edges": ("x.csv", EDGES, lambda path: kp.read_mrf(path, homophily=0.8)),
    "evidence": ("x.csv", EVIDENCE, lambda path: read_evidence(path, FIELD)),
    "evid": ("x.evid", "2 0 1 2 0", lambda path: read_evidence(path, FIELD)),
    "priors": ("x.csv", PRIORS, read_priors),
}
JUNK = [
    b"-1",
    b"1e400",
    b"nan",
    b"9" * 20,
    b"{",
    b")",
    b"<",
    b"|",
    b";",
    b'"',
    b"\n",
    b"\xff",
    b"\0",
    b"0",
    b" ",
    b"<!--",
]


def mutate(data, rng):
    """Some bytes changed, moved, doubled or left out."""
    for _ in range(rng.randint(1, 5)):
        begin = rng.randrange(len(data) + 1)
        end = min(len(data), begin + rng.choice((0, 1, 1, 2, 5, 20)))
        middle = rng.choice((b"", rng.choice(JUNK), data[begin:end] * 2, bytes([rng.randrange(256)])))
        data = data[:begin] + middle + data[end:]
    return data


def fuzz(name, n_inputs, seconds, seed):
    """How many were read and how many refused."""
    file, text, read = READERS[name]
    rng, counts, begin = random.Random(seed), {"read": 0, "refused": 0}, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        for _ in range(n_inputs):
            if time.monotonic() - begin > seconds:
                break
            data = mutate(text.encode(), rng)
            path.write_bytes(data)
            try:
                read(str(path))
                counts["read"] += 1
            except kp.KeyPlayersError:
                counts["refused"] += 1
            except BaseException:
                print(f"{name}: {data!r}")  # noqa: T201
                raise
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", default=list(READERS))
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.readers:
        print(name, fuzz(name, arguments.inputs, arguments.seconds, arguments.seed), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
