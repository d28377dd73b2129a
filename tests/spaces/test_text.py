import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import keyplayers as kp
from keyplayers.spaces.text.tokens import sentences, words

FILMS = [
    "a great fun film",
    "great and moving",
    "fun and clever",
    "a dull film",
    "boring and dull",
    "bad, dull, slow",
]


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(FILMS, ["pos"] * 3 + ["neg"] * 3)


def tokens(text, find=words):
    return [text[begin:end] for begin, end in find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ... !!", []),
        ("hello", ["hello"]),
        ("it doesn't work, it doesn't", ["it", "doesn't", "work", "it", "doesn't"]),
        ("don’t", ["don’t"]),
        ("我喜欢。", ["我", "喜", "欢"]),
        ("สวัส", ["ส", "วั", "ส"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("👩\u200d👩\u200d👧👍🏽 🇫🇷", ["👩\u200d👩\u200d👧", "👍🏽", "🇫🇷"]),
        ("مرحبا، بالعالم", ["مرحبا", "بالعالم"]),
        ("pay $5 or 3.50", ["pay", "$", "5", "or", "3.50"]),
    ],
)
def test_words_are_found_in_any_script(text, expected):
    assert tokens(text) == expected


def test_sentences_end_with_marks_quotes_and_lines():
    text = 'He said "no." It cost 3.50!\nA title\n很好。好 (Yes.) End'
    assert tokens(text, sentences) == ['He said "no."', "It cost 3.50!", "A title", "很好。", "好 (Yes.)", "End"]


@given(st.text())
def test_pieces_join_to_the_text_whatever_it_is(text):
    for space in (kp.Text(), kp.Text(unit="sentence", mask="_"), kp.Text(occurrences="all")):
        bound = space.bind(text)
        assert "".join(bound.pieces) == (text if bound.names else "")
        assert all(text[begin:end] for begin, end in bound.spans)
        assert bound.rows(np.zeros((1, len(bound.names)), dtype=bool), np.zeros(1, dtype=int)) == [text]


@given(st.text(alphabet="ab ()2", max_size=12))
def test_names_are_unique_whatever_the_words_are(text):
    bound = kp.Text(unit=lambda t: t.split(" ")).bind(text)
    assert len(set(bound.names)) == len(bound.names)


def masked(space, text, *players):
    bound = space.bind(text)
    mask = np.isin(np.array(bound.names, dtype=object), players)[None]
    assert mask.sum() == len(players)
    return bound.rows(mask, np.zeros(1, dtype=int))[0]


def test_a_removed_word_takes_the_blanks_after_it_and_nothing_else():
    text = "A great,  fun\tfilm\nto see"
    assert masked(kp.Text(), text, "great") == "A ,  fun\tfilm\nto see"
    assert masked(kp.Text(), text, "fun") == "A great,  film\nto see"
    assert masked(kp.Text(), text, "film") == "A great,  fun\t\nto see"


def test_a_token_stands_in_for_each_masked_word():
    assert masked(kp.Text(mask="[MASK]"), "not so good", "so", "good") == "not [MASK] [MASK]"


def test_every_place_of_a_word_is_masked_alone_or_all_together():
    assert masked(kp.Text(), "no, no, never no", "no (2)") == "no, , never no"
    assert masked(kp.Text(occurrences="all"), "no, no, never no", "no") == ", , never "


def test_a_word_equal_to_the_mask_cannot_be_masked():
    assert kp.Text(mask="_").bind("_ a").maskable.tolist() == [False, True]


def test_a_list_of_words_stays_one():
    assert masked(kp.Text(), ["not", "so", "good"], "so") == ["not", "good"]
    assert masked(kp.Text(mask="?"), ("not", "so"), "not") == ("?", "so")


def test_tokens_of_a_model_may_come_as_places():
    def tokenizer(text):  # as fast tokenisers of transformers give them, with (0, 0) for [CLS] and [SEP]
        return [(0, 0), (0, 3), (3, 6), (7, 10), (0, 0)][:4]

    assert kp.Text(unit=tokenizer).bind("unhappy cat").names == ("unh", "app", " ca")


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (lambda text: text.upper().split(), "'HELLO' does not stand in the text after character 0"),
        (lambda text: [(3, 5), (0, 2)], r"in the order of the text.*\(0, 2\) after 5"),
        (lambda text: [(0, 99)], "each within its 11 characters"),
        (lambda text: [7], "gives texts or .begin, end. of each token, got int"),
    ],
)
def test_wrong_tokens_are_refused_with_what_is_wrong(tokenizer, message):
    with pytest.raises(kp.InputError, match=message):
        kp.Text(unit=tokenizer).bind("hello world")


@pytest.mark.parametrize("instance", [b"bytes", 3, None, np.zeros(3), ["a", 1]])
def test_what_is_no_text_is_refused(instance):
    with pytest.raises(kp.InputError, match=r"Text takes a text \(str\) or a list of words, got"):
        kp.Text().bind(instance)


def test_a_text_needs_no_space_and_reads_well(pipeline):
    found = kp.McXai(pipeline.predict_proba).explain("A great film, fun although slow.", random_state=0)
    assert found.target == "pos"  # the pipeline's own name for it
    assert set(found.key_set) == {"great", "fun"}
    assert found.sentence.startswith("The model says 'pos' of this text (P('pos') = 0.7")
    assert "carry it: without them the model says 'neg'" in found.sentence
    assert found.picture() == "A [great] {film}, [fun] although {slow}."


@pytest.mark.parametrize("text", ["", "  ... !!", "\n"])
def test_where_there_is_no_word_there_is_nothing_to_mask(pipeline, text):
    found = kp.McXai(pipeline).explain(text, random_state=0)
    assert len(found) == 0
    assert found.sentence.endswith("there is nothing in it to mask.")
    assert not found.flipped


def test_a_baseline_is_none_of_a_texts(pipeline):
    with pytest.raises(kp.InputError, match="baseline and background are for tables; Text says by itself"):
        kp.McXai(pipeline, baseline=0).explain("great")


def test_a_long_text_is_shown_around_its_marked_words():
    text = "word " * 300 + "great " + "word " * 300
    view = kp.Text().bind(text).view
    (lines,) = [view.picture({"great": "carries"})]
    assert "[great]" in " ".join(lines)
    assert lines[0].startswith("...")
    assert sum(map(len, lines)) < 200


def test_a_batch_of_texts_goes_into_a_store_and_json(tmp_path, pipeline):
    store = kp.explain_many(kp.McXai(pipeline), FILMS, random_state=0, n_jobs=1, store=tmp_path / "s")
    assert store.counts["done"] == len(FILMS)
    names = list(store)
    found = store[names[3]]
    assert found.picture()
    found.save(tmp_path / "a.json")
    assert kp.load(tmp_path / "a.json").to_dict() == found.to_dict()


def test_the_words_of_a_key_sentence_are_sought_in_a_long_text(pipeline):
    text = "It began. Nothing happened then. It was great and fun! We left late. " + "Rain fell. " * 40
    found = kp.McXai(pipeline, kp.Text(unit="sentence", refine=True)).explain(text, target="pos", random_state=0)
    assert found.coarser == (("It was great and fun!",),)
    assert set(found.players) == {"It", "was", "great", "and", "fun"}
    assert set(found.key_set) <= {"great", "fun", "and"}
    assert "[great]" in found.picture()
