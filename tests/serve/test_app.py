"""Addresses of the page: what they answer, and whom they refuse."""

import pytest

import keyplayers as kp
from keyplayers.serve import Session

pytest.importorskip("starlette")
pytest.importorskip("httpx")

TOKEN, HOST = "a-token-of-the-test", "127.0.0.1:8000"


@pytest.fixture
def client():
    from starlette.testclient import TestClient

    from keyplayers.serve import make_app

    edges = [("ann", "bob"), ("bob", "cy"), ("cy", "dan")]
    mrf = kp.MarkovRandomField.from_edges(edges, homophily=0.8, states=["honest", "fraud"])
    session = Session(mrf.observe({"ann": "honest", "dan": "fraud"}))
    return TestClient(make_app(session, TOKEN, {HOST}), base_url=f"http://{HOST}", follow_redirects=False)


PATHS = ("", "search", "account/2", "explanation/2/players", "nothing")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("prefix", ["/", "/wrong/", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", "/%ff%fe/", f"//{TOKEN}/"])
def test_without_the_token_nothing_is_answered(client, prefix, path):
    answer = client.get(f"http://{HOST}{prefix}{path}")
    assert (answer.status_code, answer.text) == (403, "refused")
    assert client.post(f"http://{HOST}{prefix}evidence/3/none").status_code == 403


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "localhost:8000", ""]
)
def test_under_another_name_nothing_is_answered(client, host, path):
    assert client.get(f"/{TOKEN}/{path}", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HOST}"])
def test_pages_of_others_change_nothing(client, origin):
    assert client.post(f"/{TOKEN}/evidence/3/none", headers={"origin": origin}).status_code == 403
    assert client.get(f"/{TOKEN}/account/2").json()["changes"] == 0
    assert client.post(f"/{TOKEN}/evidence/3/none", headers={"origin": f"http://{HOST}"}).status_code == 200
    assert client.get(f"/{TOKEN}/account/2").json()["changes"] == 1


def test_only_posts_change_something(client):
    assert client.get(f"/{TOKEN}/evidence/3/none").status_code == 405
    assert client.get(f"/{TOKEN}/reset").status_code == 405
    assert client.get(f"/{TOKEN}/account/2").json()["changes"] == 0


@pytest.mark.parametrize("path", [*PATHS, "account/99", "explanation/3/players", "?x=1"])
def test_every_answer_is_kept_to_oneself(client, path):
    headers = client.get(f"/{TOKEN}/{path}").headers
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers


def test_an_explanation_has_no_origin_and_can_be_saved(client):
    shown = client.get(f"/{TOKEN}/explanation/2/players")
    assert shown.headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert "content-disposition" not in shown.headers
    saved = client.get(f"/{TOKEN}/explanation/2/players?save=1")
    assert saved.headers["content-disposition"].startswith("attachment")
    assert "Why <bdi>cy</bdi> is believed" in saved.text
    assert TOKEN not in saved.text


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "account/99", 400, "no variable number 99"),
        ("GET", "account/2?also=1,x", 400, "numbers with commas"),
        ("GET", "account/2?also=" + "1," * 101, 400, "at most 100"),
        ("GET", "explanation/2/everything", 400, "players or flip"),
        ("GET", "explanation/3/players", 400, "dan is observed"),
        ("POST", "evidence/3/7", 400, "no state number 7"),
        ("POST", "evidence/3/²", 400, "number of a state"),
        ("POST", "evidence/3/-1", 400, "number of a state"),
        ("GET", "../etc/passwd", 403, ""),
        ("GET", "account/-1", 404, ""),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(client, method, path, status, said):
    answer = client.request(method, f"/{TOKEN}/{path}")
    assert answer.status_code == status
    assert said in answer.text
