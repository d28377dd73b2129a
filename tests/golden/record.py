"""What a golden file keeps of an answer, how it is written, and what counts as the same.

A number is written with 12 digits, those beyond the 13th decimal place left out: what is rounding noise would
differ between processors, because NumPy computes logarithms and exponentials with whatever the processor has.
For the same reason `differences` allows `TOLERANCE`. Names, states, counts, engines, key sets must be equal.
Long columns are kept as a checksum, a sum with weights of which none is a simple fraction of another.
"""

import hashlib
import json
import math

# Largest difference of two numbers of about 1, or smaller, that another processor may make (as a share of larger
# ones): the last bits of logarithms and exponentials, carried through sums of thousands of terms. The numbers of
# the files are themselves rounded by up to half of this.
TOLERANCE = 1e-11
_DIGITS, _PLACES = 12, 13

_GAME = (
    "game",
    "players",
    "flipped",
    "minimal",
    "flip_sets",
    "best_set",
    "drop",
    "p_best",
    "becomes",
    "best_path",
)
_GAME += ("best_path_win_rate", "lower_bound", "n_rows", "n_playouts")
_GAME_NUMBERS = ("win_rates", "n_visits")
_TREE = ("parents", "players", "n_visits", "n_starts", "ended")
_CLASSIFIER = ("target", "predicted", "classes", "p_target", "p_masked", "predicted_masked", "flipped", "partial")
_CLASSIFIER += (
    "key_set",
    "opposition",
    "trail",
    "lower_bound",
    "proven",
    "minimal",
    "n_evaluations",
    "n_rows",
    "n_calls",
)
_CLASSIFIER += ("quantity", "unit")
_FIELD = ("target", "worth_states", "unit", "engine", "saturated", "meets_zero", "worth_alone", "worth_ball")
_FIELD += ("n_evaluations",)
_INFERENCE = ("schedule", "converged", "exact", "sweeps")
_BALL = ("radius", "n_variables", "n_edges", "n_dropped", "log10_coalitions_at_least", "log10_coalitions_at_most")
_FIELD_SUMS = ("value", "std_error", "error_bound", "probabilistic", "topological", "direction", "distance")
_FIELD_SUMS += ("log10_coalitions",)


def keep_state(found):
    """Of inference."""
    if "error" in found:
        return found
    kept = {key: found[key] for key in ("schedule", "converged", "exact", "damping", "log_partition")}
    kept["sweeps"] = len(found["residuals"])
    kept["map"] = "".join(map(str, found["map"]))
    return kept | {key: checksum(found[key]) for key in ("residuals", "beliefs", "edge_beliefs")}


def keep_field(found, brief=False):
    """Of the JSON form of an explanation of a belief; `brief`: values as a checksum too."""
    if "error" in found:
        return found
    kept = {key: found[key] for key in _FIELD}
    kept["belief"] = checksum(found["belief"])
    kept["inference"] = [found["inference"][key] for key in _INFERENCE]
    kept["exact_belief"] = checksum(found["inference"]["exact_belief"] or [])
    kept["ball"] = [found["ball"][key] for key in _BALL]
    rows = found["players"]
    if not brief:
        kept["players"] = [row["name"] for row in rows]
        for key in ("value", "std_error"):
            column = [row[key] for row in rows]
            if any(column):  # engines without chance leave standard errors at 0
                kept[key] = column
    # players that tie may stand in another order on another processor
    by_name = sorted(rows, key=lambda row: str(row["name"]))
    kept["sums"] = [checksum([row[key] for row in by_name])[1] for key in _FIELD_SUMS]
    kept["paths"] = digest([row["path"] for row in by_name])
    groups = [row["group"] for row in rows]
    kept["group_sizes"] = "".join(map(str, sorted(groups.count(group) for group in set(groups))))
    agree = found["diagnostics"].get("chains_agree")
    return kept | ({} if agree is None else {"chains_agree": agree})


def keep_classifier(found):
    """Of the JSON form of an explanation of a classifier."""
    if "error" in found:
        return found
    kept = {key: found[key] for key in _CLASSIFIER}
    rows = found["players"]
    kept["players"] = [row["name"] for row in rows]
    kept["values"] = checksum([row["value"] for row in rows])
    kept["std_errors"] = checksum([row["std_error"] for row in rows])
    kept["shown"] = digest([[row["instance"], row["masked"]] for row in rows])
    kept["games"] = []
    for game in found["games"]:
        tree = game["tree"]
        kept["games"].append(
            {key: game[key] for key in _GAME}
            | {key: checksum(game[key]) for key in _GAME_NUMBERS}
            | {
                "interactions": checksum([x for row in game["interactions"] for x in row]),
                "tree": [len(tree["players"]), digest([tree[key] for key in _TREE])],
                "rewards": checksum(tree["rewards"]),
            }
        )
    return kept


def checksum(numbers):
    """[how many, a weighted sum]; what is unknown counts as 0.1234."""
    weights = (1 + math.sqrt(i + 2) % 1 for i in range(len(numbers)))
    return [
        len(numbers),
        math.fsum(w * (0.1234 if x is None else x) for w, x in zip(weights, numbers, strict=True)),
    ]


def digest(data):
    """A short fingerprint of names and counts."""
    return hashlib.blake2b(json.dumps(data).encode(), digest_size=6).hexdigest()


def rounded(data):
    """The same data with numbers as they are written."""
    if isinstance(data, dict):
        return {key: rounded(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [rounded(value) for value in data]
    if isinstance(data, float):
        number = float(f"{round(data, _PLACES):.{_DIGITS}g}") if math.isfinite(data) else data
        return 0 if number == 0 else number
    return data


def write_lines(path, records):
    """One record a line, so that a change shows where it is."""
    path.write_text("".join(json.dumps(rounded(r), separators=(",", ":")) + "\n" for r in records), "utf-8")


def read_lines(path):
    """What `write_lines` wrote."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def differences(expected, found, tolerance=TOLERANCE, where=""):
    """Where two records differ, in words; numbers may by `tolerance` (0: not in a bit)."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if tolerance and "players" in expected and "value" in expected:
            found = _in_order_of(expected, found, tolerance)
        for key in expected.keys() | found.keys():
            at = f"{where}.{key}" if where else str(key)
            if key not in found or key not in expected:
                yield f"{at}: only {'expected' if key in expected else 'found'}"
            else:
                yield from differences(expected[key], found[key], tolerance, at)
    elif isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(expected) != len(found):
            yield f"{where}: {len(expected)} entries expected, {len(found)} found"
        else:
            for i, (a, b) in enumerate(zip(expected, found, strict=True)):
                yield from differences(a, b, tolerance, f"{where}[{i}]")
    elif _is_number(expected) and _is_number(found):
        gap = 0 if expected == found else abs(expected - found)
        if gap != gap and expected != expected and found != found:
            gap = 0
        if not gap <= tolerance * max(1, abs(expected)):
            yield f"{where}: {expected!r} expected, {found!r} found ({gap:.1e})"
    elif expected != found or type(expected) is not type(found):
        yield f"{where}: {expected!r} expected, {found!r} found"


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _in_order_of(expected, found, tolerance):
    """`found` with players that tie in the order of `expected`; as it is where anything else changed places."""
    names = [list(map(str, each["players"])) for each in (expected, found)]
    if sorted(names[0]) != sorted(names[1]) or "value" not in found:
        return found
    if list(differences(expected["value"], found["value"], tolerance)):
        return found  # not the same values at the same places
    order = [names[1].index(name) for name in names[0]]
    return found | {key: [found[key][i] for i in order] for key in _PER_PLAYER if key in found}


_PER_PLAYER = ("players", "value", "std_error")
