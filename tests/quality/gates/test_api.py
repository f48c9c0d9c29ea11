"""The API of gates: create, change, delete, bad input, and the signed verdict."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from projects import hooks
from projects.models import Project, Question
from quality.gates import signing
from quality.models import Gate, SigningKey

pytestmark = pytest.mark.django_db

RULE = {"measure": "fleiss_kappa", "at_least": 0.6}


def test_gate_is_created_changed_listed_and_deleted(
    question: Question, api: Any, gates_url: str, viewer: Any, api_for: Any
) -> None:
    body = {"name": "release 1", "question": "severity", "rules": [RULE]}
    response = api.post(gates_url, body, format="json")
    assert response.status_code == 201
    url = f"{gates_url}release%201/"
    assert response["Location"] == f"http://testserver{url}"
    created = response.json()
    assert created == {**body, "verdict": None, "decided_at": None, "created_by": "lead",
                       "created_at": created["created_at"]}  # fmt: skip
    assert api.get(url).json() == created
    reader = api_for(viewer)
    assert reader.get(gates_url).json() == {"next": None, "results": [created]}
    rules = [RULE, {"measure": "coverage", "at_least": 1}]
    changed = api.patch(url, {"rules": rules}, format="json").json()
    assert changed == {**created, "rules": rules}
    renamed = api.patch(url, {"name": "nightly"}, format="json").json()
    assert renamed == {**changed, "name": "nightly"}
    assert api.get(url).status_code == 404
    assert reader.delete(f"{gates_url}nightly/").status_code == 403
    assert api.delete(f"{gates_url}nightly/").json() == {"deleted": True}
    assert not Gate.objects.exists()


@pytest.mark.parametrize(
    ("rules", "place", "allowed"),
    [
        ([], "rules", "at least one rule"),
        ("x", "rules", "at least one rule"),
        ([RULE] * 21, "rules", "At most 20"),
        (["x"], "rules.0.rule", "“measure”"),
        ([{"at_least": 0.5}], "rules.0.measure", "missing; one of headline"),
        ([RULE, {"measure": "kappa", "at_least": 0.5}], "rules.1.measure", "unknown measure"),
        ([{"measure": 3, "at_least": 0.5}], "rules.0.measure", "unknown measure"),
        ([{"measure": "kendall_w", "at_least": 0.5}], "rules.0.measure", "no interval"),
        ([{"measure": "icc1", "at_least": 0.5}], "rules.0.measure", "scale ordinal"),
        ([{"measure": "headline"}], "rules.0.at_least", "from -1 to 1"),
        ([{"measure": "headline", "at_least": 1.01}], "rules.0.at_least", "from -1 to 1"),
        ([{"measure": "headline", "at_least": "0.5"}], "rules.0.at_least", "a number"),
        ([{"measure": "headline", "at_least": True}], "rules.0.at_least", "a number"),
        ([{"measure": "coverage", "at_least": -0.1}], "rules.0.at_least", "from 0 to 1"),
        ([{"measure": "percent_agreement", "at_least": -1}], "rules.0.at_least", "from 0 to 1"),
        ([{"measure": "open_alerts", "at_least": 1}], "rules.0.at_least", "takes “at_most”"),
        ([{"measure": "open_alerts", "at_most": 0.5}], "rules.0.at_most", "whole number"),
        ([{"measure": "headline", "at_most": 0.5}], "rules.0.at_most", "takes “at_least”"),
        ([{**RULE, "limit": 1}], "rules.0.limit", "unknown field; one of measure"),
        ([{**RULE, "filter": []}], "rules.0.filter", "An object is needed"),
        ([{**RULE, "filter": {"lang": "en"}}], "rules.0.filter", "unknown field “lang”"),
        ([{**RULE, "filter": {"kind": "robot"}}], "rules.0.filter", "human, model"),
        ([{**RULE, "filter": {"from": "soon"}}], "rules.0.filter", "2026-03-02"),
        ([{**RULE, "filter": {"group": 3}}], "rules.0.filter", "needs a text"),
        ([{**RULE, "filter": {"exclude": ["zoe"]}}], "rules.0.filter", "must be one of ann"),
        ([{**RULE, "filter": {"group": "new"}}], "rules.0.filter", "no values yet"),
        ([{**RULE, "filter": {"item.lang": "en"}}], "rules.0.filter", "No item has"),
        (
            [{"measure": "open_alerts", "at_most": 0, "filter": {"kind": "human"}}],
            "rules.0.filter",
            "has no filter",
        ),
    ],
)
def test_bad_rule_names_its_place_and_what_is_allowed(
    question: Question, gates_url: str, api: Any, refused: Any, rules: Any, place: str,
    allowed: str,
) -> None:  # fmt: skip
    error = refused(api.post, gates_url, {"name": "release", "rules": rules})
    message: Any = error["fields"]
    for name in place.split("."):
        message = message[name]
    assert allowed in message


@pytest.mark.parametrize("name", ["", "a/b", "..", "a\nb", "x" * 81, None, 3])
def test_bad_name_is_rejected(
    question: Question, gates_url: str, api: Any, refused: Any, name: Any
) -> None:
    error = refused(api.post, gates_url, {"name": name, "rules": [RULE]})
    assert list(error["fields"]) == ["name"]


def test_duplicate_name_and_unknown_question_are_rejected(
    question: Question, gates_url: str, api: Any, refused: Any, create_gate: Any
) -> None:
    create_gate(RULE)
    create_gate(RULE, name="other")
    error = refused(api.post, gates_url, {"name": "release", "rules": [RULE]})
    assert error["fields"] == {"name": "This name already exists."}
    assert refused(api.patch, f"{gates_url}other/", {"name": "release"})["fields"]["name"]
    body = {"name": "new", "question": "mood", "rules": [RULE]}
    assert "one of severity" in refused(api.post, gates_url, body)["fields"]["question"]


@pytest.mark.parametrize(
    ("as_of", "message"), [("soon", "a time like"), ("2100-01-01", "in the future")]
)
def test_bad_moment_is_rejected(
    question: Question, gates_url: str, api: Any, refused: Any, create_gate: Any, as_of: str,
    message: str,
) -> None:  # fmt: skip
    create_gate(RULE)
    error = refused(api.get, f"{gates_url}release/verdict/?as_of={as_of}")
    assert message in error["fields"]["as_of"]
    error = refused(api.get, f"{gates_url}nothing/verdict/", status=404)
    assert error["message"] == "There is no gate 'nothing'; one of: release"


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def verify(body: dict[str, Any]) -> None:
    """Verify a verdict with the published keys, as a reader does."""
    keys = {key["kid"]: key for key in Client().get("/.well-known/jwks.json").json()["keys"]}
    unsigned = {name: value for name, value in body.items() if name != "signature"}
    public_key = Ed25519PublicKey.from_public_bytes(decode(keys[body["key_id"]]["x"]))
    public_key.verify(decode(body["signature"]), signing.encode_canonical_json(unsigned))


def test_signature_is_verified_with_the_published_key(
    rated_question: Question, gates_url: str, api: Any, create_gate: Any
) -> None:
    create_gate(RULE, {"measure": "label_certainty", "at_least": 0.5})
    body = json.loads(api.get(f"{gates_url}release/verdict/").content)
    assert len(body["ratings_hash"]) == 64
    verify(body)
    changes: list[dict[str, Any]] = [
        {"verdict": "pass"}, {"as_of": "2026-01-01T00:00:00Z"}, {"rules": []},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(InvalidSignature):
            verify({**body, **change})
    (key,) = Client().get("/.well-known/jwks.json").json()["keys"]
    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("OKP", "Ed25519", "EdDSA", "sig")
    assert key["kid"] == body["key_id"]


def test_rotated_key_signs_and_old_verdicts_stay_valid(
    question: Question, gates_url: str, api: Any, create_gate: Any, settings: Any
) -> None:
    create_gate(RULE)
    old = api.get(f"{gates_url}release/verdict/").json()
    call_command("rotate_gate_key")
    new = api.get(f"{gates_url}release/verdict/").json()
    assert new["key_id"] != old["key_id"]
    verify(old)
    verify(new)
    assert SigningKey.objects.count() == 2
    assert settings.GATE_SIGNING_KEY_FILE.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in settings.GATE_SIGNING_KEY_FILE.parent.iterdir()] == ["key.pem"]


def test_unsafe_or_foreign_key_file_is_rejected(settings: Any) -> None:
    path = settings.GATE_SIGNING_KEY_FILE
    signing.get_or_create_signer()
    path.chmod(0o644)
    with pytest.raises(ImproperlyConfigured, match="chmod 600"):
        signing.get_or_create_signer()
    path.chmod(0o600)
    path.write_text("not a key")
    with pytest.raises(ImproperlyConfigured, match="no private key"):
        signing.get_or_create_signer()


def test_key_id_is_the_thumbprint_of_the_standard() -> None:
    # RFC 8037, appendix A.3
    public_key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    key_id = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert signing._compute_key_id(public_key) == key_id


def test_renamed_rater_is_renamed_in_rules(
    question: Question, project: Project, create_gate: Any
) -> None:
    create_gate({**RULE, "filter": {"exclude": "ann", "kind": "human"}}, RULE)
    Gate.objects.update(document={"key": "ann"})
    with transaction.atomic():
        hooks.RATERS_RENAMED.call(project.pk, {"ann": "rater-1"})
    gate = Gate.objects.get()
    assert gate.rules == [{**RULE, "filter": {"exclude": ["rater-1"], "kind": "human"}}, RULE]
    assert gate.document is None


def test_badge_is_shown_to_readers_by_session_and_by_token(
    question: Question, create_gate: Any, project: Project, viewer: Any, stranger: Any,
    annotator: Any, api_for: Any,
) -> None:  # fmt: skip
    create_gate(RULE, name="<release>")
    url = f"/projects/{project.pk}/gates/%3Crelease%3E/badge.svg"
    reader = Client()
    reader.force_login(viewer)
    for client in (reader, api_for(viewer)):
        response = client.get(url)
        assert (response.status_code, response["Content-Type"]) == (200, "image/svg+xml")
        assert "&lt;release&gt;: not decided yet" in response.content.decode()
    picture = reader.get(url, headers={"accept": "image/*", "sec-fetch-dest": "image"})
    assert picture.status_code == 200
    Gate.objects.update(verdict="fail")
    assert "Failed" in reader.get(url).content.decode()
    assert APIClient().get(url).status_code == 401
    assert api_for(stranger).get(url).status_code == 404
    assert api_for(annotator).get(url).status_code == 403
