# mypy: ignore-errors
"""The walk through all coalitions of a ball. Arrays only; see search.py for the caller.

The search writes its moves on a tape. A move is the slot of an edge that joins a new member, or `BACK`: the latest
member goes. A slot is a directed edge; slot s joins neighbours[s] to the variable that it leaves.
"""

from ..._base.compiled import kernel

BACK = -1

# places of a search's `cursor`
SIZE, N_CANDIDATES, AT, N_SEEN, DONE = range(5)


@kernel
def search(tape, limit, slots, progress):
    """Include/forbid search over frontier edges, until the tape is full or more than `limit` coalitions are seen.

    Candidate edges stand in a queue; those before AT are decided. Including one gives a coalition and appends
    the edges that it opens; going back truncates the queue and forbids it. Every subtree has exactly one way
    through its edges in the order of the queue, so each appears once. An empty tape records nothing.

    slots, progress: see search.py. Writes progress and the tape. Returns the number of moves on the tape.
    """
    offsets, neighbours = slots.offsets, slots.neighbours
    stack, position, candidates = progress.stack, progress.position, progress.candidates
    cursor, resume, lengths = progress.cursor, progress.resume, progress.lengths
    size, n_candidates, at, n_seen = cursor[SIZE], cursor[N_CANDIDATES], cursor[AT], cursor[N_SEEN]
    if size == 0:
        position[:] = -1
        position[0] = 0
        stack[0] = 0
        size = 1
        for slot in range(offsets[0], offsets[1]):
            candidates[n_candidates] = slot
            n_candidates += 1
    n_moves = 0
    recording = tape.shape[0] > 0
    while n_seen <= limit and (not recording or n_moves < tape.shape[0]):
        while at < n_candidates and position[neighbours[candidates[at]]] >= 0:
            at += 1  # it would close a cycle
        if at == n_candidates:
            if size == 1:
                cursor[DONE] = 1
                break
            size -= 1
            position[stack[size]] = -1
            at = resume[size]
            n_candidates = lengths[size]
            move = BACK
        else:
            move = candidates[at]
            v = neighbours[move]
            stack[size] = v
            position[v] = size
            resume[size] = at + 1
            lengths[size] = n_candidates
            for slot in range(offsets[v], offsets[v + 1]):
                if position[neighbours[slot]] < 0:
                    candidates[n_candidates] = slot
                    n_candidates += 1
            size += 1
            at += 1
            n_seen += 1
        if recording:
            tape[n_moves] = move
            n_moves += 1
    cursor[SIZE] = size
    cursor[N_CANDIDATES] = n_candidates
    cursor[AT] = at
    cursor[N_SEEN] = n_seen
    return n_moves
