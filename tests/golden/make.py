"""Write the golden files, or show what a change of the source does to the answers.

    python tests/golden/make.py                          # rewrite the golden files; read the diff in review
    python tests/golden/make.py --compare OLD_SRC        # old and new source on this machine, bit for bit
    python tests/golden/make.py --compare OLD_SRC --data DIR

`--compare` runs both sources in processes of their own (NEW_SRC: the one beside this file, or ``--new``) on more
than the golden files hold: the 200 fields with every schedule, every engine and every worth, the golden
classifiers, and those of benchmarks/mcxai_problems.py, fitted once for both (needs scikit-learn; four of them need
DIR). It reports every number that differs in a bit, every key that is gone, and apart from these sentences that
are worded differently and keys that are new. Exit status 1: numbers differ or are gone.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests.golden import classifiers, fields, record

# file -> what it keeps of an answer
FILES = {
    "beliefs.jsonl": record.keep_state,
    "field_explanations.jsonl": record.keep_field,
    "classifier_explanations.jsonl": record.keep_classifier,
}
SENTENCES = "sentences.txt"
# what is no part of an answer
_ASIDE = ("seconds", "version", "sentence", "engine_reason", "settings")
_SHOWN = 40


def beliefs(numbers=range(fields.N_FIELDS), runs=fields.infer):
    """(name, answer, warnings) of inference on the fields, and on one of each generator."""
    for number in numbers:
        case = fields.make_case(number)
        mrf, _ = fields.noting_warnings(lambda case=case: case.mrf)
        for run, work in runs(case, mrf):
            yield f"field {number} {run}", *fields.noting_warnings(work)


def generated_beliefs():
    """The same for one field of each generator."""
    import keyplayers as kp

    for name, mrf in fields.generated().items():
        yield (
            f"generated {name}",
            *fields.noting_warnings(lambda mrf=mrf: fields.describe_state(mrf, kp.belief_propagation(mrf))),
        )


def field_explanations(numbers=range(fields.N_FIELDS), runs=fields.explain):
    """(name, JSON form, warnings) of the explanations of the fields."""
    yield from beliefs(numbers, runs)


def field_batch():
    """The same of a batch, whose seeds follow the names of the targets."""
    import keyplayers as kp

    mrf = fields.make_case(195).mrf
    explainer = kp.GraphShapley(
        mrf, coalitions="subtrees", worth="symmetric_kl", order="value", method="sampling", max_evals=400, radius=2
    )
    for target, found in zip(
        range(5), kp.explain_many(explainer, range(5), random_state=3, n_jobs=1), strict=True
    ):
        yield f"batch {target}", found.to_dict(), []


def classifier_explanations():
    """(name, JSON form, warnings) of the explanations of the classifiers, one by one and as a batch."""
    for problem in classifiers.problems():
        for name, work in problem.explain():
            yield name, *fields.noting_warnings(work)


def classifier_batch():
    """The same of a batch."""
    import keyplayers as kp

    explainer = kp.McXai(classifiers.iris_mlp, baseline=0)
    rows = classifiers.weights()["iris_rows"][[5, 35, 65]]
    for i, found in enumerate(kp.explain_many(explainer, rows, random_state=3, n_jobs=1)):
        yield f"batch {i}", found.to_dict(), []


def answers():
    """File -> (name, answer, warnings) of everything in it."""
    yield "beliefs.jsonl", (*beliefs(), *generated_beliefs())
    yield "field_explanations.jsonl", (*field_explanations(), *field_batch())
    yield "classifier_explanations.jsonl", (*classifier_explanations(), *classifier_batch())


def kept(file, found):
    """(name, answer, warnings) as a record of `file`."""
    name, answer, noted = found
    brief = {"brief": True} if name.startswith("field") and name.endswith((" convolution", " auto")) else {}
    of_it = FILES[file](answer, **brief) if file == "field_explanations.jsonl" else FILES[file](answer)
    return {"name": name} | ({"warnings": noted} if noted else {}) | of_it


def sentence(found):
    """The line of a (name, answer, warnings) in the file of sentences; None where it is not kept."""
    name, answer, _ = found
    if "sentence" not in answer or name.endswith(("enumeration", "convolution", "sampling")):
        return None
    return f"{name}: {answer['sentence']}"


def write():
    """Rewrite the golden files."""
    lines = []
    for file, found in answers():
        record.write_lines(HERE / file, [kept(file, each) for each in found])
        lines += [line for each in found if (line := sentence(each)) is not None]
        print(f"{file}: {len(found)} records, {(HERE / file).stat().st_size:,} bytes")
    (HERE / SENTENCES).write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{SENTENCES}: {len(lines)} lines, {(HERE / SENTENCES).stat().st_size:,} bytes")


def dump(path, fitted, numbers):
    """Everything that is compared, in full, as JSON."""
    found = {}
    for part, answers_of_it in _everything(fitted, numbers):
        for name, answer, noted in answers_of_it:
            assert f"{part}, {name}" not in found, name
            found[f"{part}, {name}"] = {"answer": answer, "warnings": noted}
    Path(path).write_text(json.dumps(found), "utf-8")


def _everything(fitted, numbers):
    def all_schedules(case, mrf):
        for asked in ({}, *fields.SCHEDULES):
            yield f"{asked}", lambda asked=asked: fields.propagate(mrf, asked)

    yield "beliefs", beliefs(numbers)
    yield "beliefs", generated_beliefs()
    yield "schedules", beliefs(numbers, all_schedules)
    yield "explanations", field_explanations(numbers)
    yield "worths", field_explanations(numbers, fields.explain_all_worths)
    yield "field", field_batch()
    yield "classifiers", classifier_explanations()
    yield "classifiers", classifier_batch()
    yield "fitted classifiers", _fitted_problems(fitted)


def _fitted_problems(fitted):
    import keyplayers as kp

    for problem in fitted:
        for kind, cases in (("correct", problem.correct), ("wrong", problem.wrong)):
            for i, case in enumerate(cases):
                for settings in ({}, {"max_evals": 300}):
                    explainer = kp.McXai(case.predict, baseline=problem.tau, **settings)
                    yield (
                        f"{problem.name} {kind} {i} {settings}",
                        *fields.noting_warnings(
                            lambda e=explainer, c=case, i=i: e.explain(
                                c.row, target=c.label, random_state=i
                            ).to_dict()
                        ),
                    )


def fit_problems(data, n_instances, path):
    """Fit the classifiers of the benchmark and keep them, so that both sources explain the same."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from mcxai_problems import problems

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = list(problems(data, n_instances))
    Path(path).write_bytes(pickle.dumps(fitted))
    return len(fitted)


def compare(old, new, data, n_instances, n_fields):
    """Report what differs between two sources; whether numbers do."""
    with tempfile.TemporaryDirectory() as folder:
        problems = f"{folder}/problems.pickle"
        print(f"{fit_problems(data, n_instances, problems)} fitted classifiers", flush=True)
        found = []
        for name, source in (("old", old), ("new", new)):
            paths = [str(source), str(ROOT), str(ROOT / "benchmarks")]
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            asked = ["--dump", f"{folder}/{name}.json", "--problems", problems, "--fields", str(n_fields)]
            subprocess.run(
                [sys.executable, __file__, *asked],
                env=os.environ | threads | {"PYTHONPATH": os.pathsep.join(paths)},
                check=True,
            )
            found.append(json.loads(Path(f"{folder}/{name}.json").read_text("utf-8")))
    return report(*found)


def report(old, new):
    """Print what differs between two dumps; whether it is more than words and new keys."""
    gone = [name for name in old if name not in new]
    changed, worded, added = {}, [], set()
    for name in old.keys() & new.keys():
        before, after = old[name], new[name]
        if before["answer"].get("sentence") != after["answer"].get("sentence"):
            worded.append(name)
        before, after = _without(before, _ASIDE), _without(after, _ASIDE)
        places = list(record.differences(before, _known_keys(before, after, added), tolerance=0))
        if places:
            changed[name] = places
    lines = [f"{name}: {place}" for name, places in sorted(changed.items()) for place in places]
    for line in [f"{name}: gone" for name in gone] + lines[:_SHOWN]:
        print(line)
    if len(lines) > _SHOWN:
        print(f"... and {len(lines) - _SHOWN:,} more")
    print(
        f"{len(old):,} answers compared: {len(changed):,} differ, in {len(lines):,} places; {len(gone)} are gone"
    )
    print(f"{len(worded):,} sentences are worded differently" + (f", such as {worded[0]!r}" if worded else ""))
    if added:
        print(f"new keys: {', '.join(sorted(added))}")
    return bool(changed or gone)


def _without(data, keys):
    if isinstance(data, dict):
        return {key: _without(value, keys) for key, value in data.items() if key not in keys}
    return [_without(value, keys) for value in data] if isinstance(data, list) else data


def _known_keys(before, after, added, where=""):
    """`after` without keys that `before` does not have; their names are noted in `added`."""
    if isinstance(before, dict) and isinstance(after, dict):
        added |= {f"{where}{key}" for key in after.keys() - before.keys()}
        return {
            key: _known_keys(before[key], after[key], added, f"{where}{key}.")
            for key in before.keys() & after.keys()
        }
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [_known_keys(a, b, added, where) for a, b in zip(before, after, strict=True)]
    return after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", type=Path, metavar="OLD_SRC", help="folder that holds the old keyplayers")
    parser.add_argument("--new", type=Path, default=ROOT / "src", metavar="NEW_SRC")
    parser.add_argument("--data", type=Path, help="folder of data sets, for three more classifiers")
    parser.add_argument("--instances", type=int, default=6, help="instances of each fitted classifier")
    parser.add_argument(
        "--fields", type=int, default=fields.N_FIELDS, help="how many of the fields, for a quick look"
    )
    parser.add_argument("--dump", help=argparse.SUPPRESS)
    parser.add_argument("--problems", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.dump:
        # written a moment ago by the process that started this one
        dump(options.dump, pickle.loads(Path(options.problems).read_bytes()), range(options.fields))
    elif options.compare:
        for source in (options.compare, options.new):
            if not (source / "keyplayers").is_dir():
                parser.error(f"{source} holds no keyplayers")
        sources = options.compare.resolve(), options.new.resolve()
        return int(compare(*sources, options.data, options.instances, options.fields))
    else:
        write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
