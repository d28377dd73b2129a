import pickle

import numpy as np
import pytest

from keyplayers import InputError, ModelError, PredictionError, PredictorError
from keyplayers.models import Predictor


def test_what_is_wrong_with_a_model_says_who_was_masked():
    for kind, builtin in ((PredictorError, RuntimeError), (PredictionError, ValueError)):
        error = kind("it failed", masked=("a", 3), partial={"found": 1})
        assert isinstance(error, builtin)
        assert isinstance(error, ModelError)
        back = pickle.loads(pickle.dumps(error))
        assert (str(back), back.masked, back.partial) == ("it failed", ("a", 3), {"found": 1})
        assert kind("it failed").masked == ()
        assert kind("it failed").partial is None


@pytest.mark.parametrize("given", [np.full(2, np.nan), np.ones(3), np.ones((2, 2)), 5 * np.ones(2), None])
def test_an_answer_that_is_no_prediction_is_both_a_wrong_input_and_a_wrong_model(given):
    with pytest.raises(PredictionError) as caught:
        Predictor(lambda rows: given)(np.ones((2, 1)), 2)
    assert isinstance(caught.value, InputError)
