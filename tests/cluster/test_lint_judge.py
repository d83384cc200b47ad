"""lint refuses what the real API server refuses, in its words: random manifests, one judge."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from claimfit.diagnose.lint import Context, lint
from claimfit.diagnose.lint.finding import REFUSALS
from claimfit.dra.profile import profile
from claimfit.errors import ClaimfitError
from claimfit.manifests.reader import read_documents
from support.lint_mutations import BASES, EXPRESSIONS, mutated

if TYPE_CHECKING:
    from claimfit.dra.profile import Profile
    from support.api_client import Answer
    from support.control_plane import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

WORDS_OF = 36
"""The minor whose words lint speaks; others say some of it differently."""

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
"""What the API server has: it refuses adminAccess there."""


def rules_of(api_server: ControlPlane) -> Profile:
    """Return the rules of the server's minor, with its defaults for gates."""
    return profile(api_server.version)


def refusals(manifest: dict[str, Any], rules: Profile) -> list[str]:
    """Return the messages that say that the API server refuses `manifest`."""
    try:
        documents = [
            document
            for item in (NAMESPACE, manifest)
            for document in read_documents(json.dumps(item), "manifest.json")
        ]
    except ClaimfitError as error:  # what the reader refuses, the server must refuse too
        return [f"{error.code} {error}"]
    return [
        finding.message
        for finding in lint(documents, Context(rules))
        if finding.code in REFUSALS and finding.severity == "error"
    ]


def disagreement(manifest: dict[str, Any], found: list[str], answer: Answer) -> str:
    """Return how lint and the API server differ about `manifest`, nothing when they agree."""
    if (answer.status == 201) == (not found):
        return ""
    server = f"server {answer.status} {answer.message[:600]}"
    return f"{server}\nlint {found[:5]}\n{json.dumps(manifest)[:1500]}"


def words(answer: Answer) -> list[str]:
    """Return the server's refusals that lint repeats word by word.

    All but those of expressions, where lint leaves out the expression and adds the place, those
    that print Go structures, and values that lint cuts.
    """
    details = answer.body.get("details")
    causes = details.get("causes", []) if answer.status == 422 and isinstance(details, dict) else []
    said = [f"{cause['field']}: {cause['message']}" for cause in causes]
    skipped = ("cel.expression", "nodeSelector", "x" * 200)
    return [text for text in said if not any(word in text for word in skipped)]


@pytest.mark.parametrize("base", BASES, ids=[base["metadata"]["name"] for base in BASES])
def test_unchanged_bases_are_accepted_by_both(
    base: dict[str, Any], api_server: ControlPlane
) -> None:
    """What the mutations start from is valid."""
    rules = rules_of(api_server)
    if not rules.enabled("DRAPartitionableDevices") and "perDeviceNodeSelection" in base["spec"]:
        pytest.skip("this minor has no slices of that kind by default")

    assert not refusals(base, rules)
    assert api_server.dry_run(base).status == 201


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=[text[:40] for text in EXPRESSIONS])
def test_expressions_are_judged_alike(expression: str, api_server: ControlPlane) -> None:
    """A selector compiles for lint when the API server takes it."""
    selector = {"cel": {"expression": expression}}
    exactly = {"deviceClassName": "gpu.example.com", "selectors": [selector]}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }

    assert not disagreement(claim, refusals(claim, rules_of(api_server)), api_server.dry_run(claim))


@pytest.mark.timeout(900)
def test_random_manifests_are_judged_alike(api_server: ControlPlane) -> None:
    """CLAIMFIT_LINT_MUTATIONS (1000) manifests from a printed seed: same verdicts, same words."""
    seed = int(os.environ.get("CLAIMFIT_SEED", "") or random.SystemRandom().randrange(2**32))
    count = int(os.environ.get("CLAIMFIT_LINT_MUTATIONS", "1000"))
    choose, rules = random.Random(seed), rules_of(api_server)
    verdicts: Counter[str] = Counter()
    differences = []
    for _ in range(count):
        manifest = mutated(choose.choice(BASES), choose)
        found, answer = refusals(manifest, rules), api_server.dry_run(manifest)
        verdicts["accepted" if answer.status == 201 else "refused"] += 1
        difference = disagreement(manifest, found, answer)
        if difference:
            differences.append(difference)
        for text in words(answer) if rules.minor == WORDS_OF else ():
            verdicts["reasons"] += 1
            if text not in found:
                differences.append(f"server says {text}\nlint {found[:5]}")
    sys.stdout.write(f"seed {seed}: {dict(verdicts)}, {len(differences)} differences\n")
    assert not differences, f"seed {seed}\n" + "\n\n".join(differences[:5])
    assert min(verdicts["accepted"], verdicts["refused"]) >= count // 10
