"""``keyplayers demo``: the main job on data that ships with the demo's packages."""

from typing import TYPE_CHECKING, Any

from .output import emit, print_table

if TYPE_CHECKING:
    from ..mrf.inference.beliefs import BeliefState

# two who know people on both sides
_EXPLAINED = (8, 2)
# a digit of scikit-learn's that reads as an 8 and has something of a 3
_DIGIT = 1433


def demo() -> None:
    """Show what keyplayers does, on the karate club and on a digit (needs the extra "demo")."""
    _explanations(_beliefs())
    _digit()


def _print(text: str) -> None:
    for line in text.split("\n"):
        emit(line)


def _beliefs() -> "BeliefState":
    """Two members of the karate club are observed; everybody's faction is inferred."""
    from .._base.optional import require
    from ..mrf.field import MarkovRandomField
    from ..mrf.inference.propagation import belief_propagation
    from .beliefs import summary

    networkx = require("networkx")
    club = networkx.karate_club_graph()
    _print(
        "1. A karate club of 34 members splits. We know the side of two: 0 teaches (Mr. Hi), 33 is the officer."
    )
    _print("   Friends tend to take the same side. Belief propagation infers the others'.\n")
    mrf = MarkovRandomField.from_edges(
        [(int(a), int(b)) for a, b in club.edges], homophily=0.6, states=["Mr. Hi", "Officer"]
    ).observe({0: "Mr. Hi", 33: "Officer"})
    state = belief_propagation(mrf)
    chosen = state.most_likely_states()
    truth = networkx.get_node_attributes(club, "club")
    right = sum(chosen[name] == truth[name] for name in mrf.names)
    order = sorted(mrf.names, key=lambda name: state.belief(name)[0])
    shown = [*order[:5], *order[-5:]]
    print_table(
        "The five surest on either side",
        ["member", "believed side", "probability", "went with"],
        [[name, chosen[name], float(state.belief(name).max()), truth[name]] for name in shown],
    )
    for line in summary(state):
        _print(line)
    _print(f"{right} of {mrf.n_variables} members are believed to be on the side they went with.")
    return state


def _explanations(state: "BeliefState") -> None:
    """Why two members are believed to be on their side."""
    import warnings

    from ..errors import PrecisionWarning
    from ..graphshapley.explainer import GraphShapley
    from .explain import print_players

    _print("\n2. Who made the field believe that? What we know reaches a member along friendships. GraphShapley")
    _print("   follows all walks of at most two friendships from the member, adds them one by one in many")
    _print("   ways, and sees how far each moves the belief. A player's value is what walks to it move.\n")
    explainer = GraphShapley(state.mrf, beliefs=state)
    for member in _EXPLAINED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # the sentence says what exact inference says
            found = explainer.explain(member)
        _print(found.sentence)
        print_players(found, 5)
        _print(f"   From {found.n_copies:,} walks to {len(found)} members.\n")
    _print("   Values are log-odds: above 0 for the side that is believed, below 0 against it. What we know")
    _print("   of the player itself acts by its prior; what its friendships carry from others, by its edges.")


def _digit() -> None:
    """Which strokes carry a digit's class, and which speak for another one."""
    from .._base.optional import require

    datasets, ensemble = require("sklearn.datasets"), require("sklearn.ensemble")
    from ..mcxai.explainer import McXai
    from ..spaces.image import Image

    pixels, digits = datasets.load_digits(return_X_y=True)
    model = ensemble.RandomForestClassifier(100, random_state=0).fit(pixels[:1000], digits[:1000])

    def predict(images: Any) -> Any:
        return model.predict_proba(images.reshape(-1, 64))

    _print("\n3. A classifier reads a hand-written digit of 8 x 8 pixels. Which strokes make it say so?")
    _print("   McXai plays two games: rub out as few inked pixels as possible until the class changes; then")
    _print("   rub out more until it changes back.\n")
    explainer = McXai(predict, Image(players="pixels", fill=0))
    found = explainer.explain(pixels[_DIGIT].reshape(8, 8), random_state=0)
    _print(found.sentence + "\n")
    for line in found.picture().split("\n"):
        _print("      " + line)
    _print(
        f"\n   The rest is ink. # carries the {found.target}: without it the model says {found.main.new_class}."
    )
    _print(f"   o is ink that spoke against the {found.target}.")
    shown = " -> ".join(f"{p:.2f}" for p in found.trail)
    sure = "no fewer pixels do it: all were tried" if found.proven else f"at least {found.lower_bound} are needed"
    _print(f"   P({found.target}): {shown}; {sure}; {found.n_rows} rows given to the model.")
