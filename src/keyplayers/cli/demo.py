"""``keyplayers demo``: the main job on data that ships with the demo's packages."""

import typer

from .output import print_table


def demo() -> None:
    """Show what keyplayers does, on the karate club (needs networkx: the extra "demo")."""
    _beliefs()


def _beliefs() -> None:
    """Two members of the karate club are observed; everybody's faction is inferred."""
    from .._optional import require
    from ..mrf.field import MarkovRandomField
    from ..mrf.propagation import belief_propagation
    from .beliefs import summary

    networkx = require("networkx")
    club = networkx.karate_club_graph()
    typer.echo(
        "1. A karate club of 34 members splits. We know the side of two: 0 teaches (Mr. Hi), 33 is the officer."
    )
    typer.echo("   Friends tend to take the same side. Belief propagation infers the others'.\n")
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
        typer.echo(line)
    typer.echo(f"{right} of {mrf.n_variables} members are believed to be on the side they went with.")
