import json

from keyplayers.cli import doctor


def test_the_doctor_says_what_is_there_and_that_it_works(cli):
    done = cli("doctor")
    assert done.status == 0
    assert "works:         yes" in done.out
    assert "numba 0." in done.out
    found = json.loads(cli("doctor", "--json").out)
    assert found["works"] is True
    assert found["needed"]["numpy"].count(".") == 2
    assert found["cores"] >= 1


def test_wrong_beliefs_and_missing_packages_are_told(cli, monkeypatch):
    monkeypatch.setattr(doctor, "_self_test", lambda: (False, 0.1))
    monkeypatch.setattr(doctor, "_OPTIONAL", ("no-such-package",))
    done = cli("doctor")
    assert done.status == 1
    assert "works:         NO" in done.out
    assert "no-such-package not installed" in done.out
