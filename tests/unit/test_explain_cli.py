"""``claimfit explain``, ``simulate`` and ``devices`` as commands: answers and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from claimfit.__main__ import main
from support.small_cluster import claim, device, gpu_class, node, pod, published

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = ["explain", "claim/want", "--cluster"]


def saved(folder: Path, *manifests: dict[str, Any], name: str = "cluster.json") -> str:
    """Write a List and return its path."""
    path = folder / name
    items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    path.write_text(json.dumps(items), encoding="utf-8")
    return str(path)


@pytest.fixture
def small(tmp_path: Path) -> str:
    """Return a cluster of one node with two GPUs, of which one is held, and two waiting claims."""
    return saved(
        tmp_path,
        node("n"),
        published("n", device("g0"), device("g1")),
        gpu_class(),
        claim("held", holds=("n/g0",)),
        claim("one", 1),
        claim("two", 2),
        pod("p", "one"),
    )


def test_exit_codes(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """0 for what fits, 1 for what does not, 2 for what is not there."""
    assert main(["explain", "claim/one", "--cluster", small]) == 0
    assert capsys.readouterr().out.startswith("Fits: claim default/one can go to 1 of 1 node")
    assert main(["explain", "pod/p", "--cluster", small]) == 0
    assert main(["explain", "claim/two", "--cluster", small]) == 1
    assert capsys.readouterr().out.count("Pending: no node can give claim default/two") == 1
    assert main(["explain", "claim/three", "--cluster", small]) == 2


def test_what_if_says_what_was_changed(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the holder freed, or with one device asked for, the claim fits."""
    assert main(["explain", "claim/two", "--cluster", small, "--free", "held"]) == 0
    assert capsys.readouterr().out.startswith("What if: free claim held.\nFits: ")
    assert main(["explain", "claim/two", "--cluster", small, "--count", "1"]) == 0


def test_add_brings_nodes(small: str, tmp_path: Path) -> None:
    """A second node with two free GPUs takes the claim."""
    more = saved(tmp_path, node("m"), published("m", device("g0"), device("g1")), name="more.json")

    assert main(["explain", "claim/two", "--cluster", small, "--add", more]) == 0
    assert main(["explain", "claim/two", "--cluster", small, "--add", more, "--node", "n"]) == 1


def test_files_are_asked_about(small: str, tmp_path: Path) -> None:
    """-f asks about what is in the file, on the cluster that is given."""
    asking = saved(tmp_path, pod("new", "one"), name="pod.json")

    assert main(["explain", "-f", asking, "--cluster", small]) == 0
    assert main(["explain", "-f", asking]) == 1  # alone it has no claim and no node


def test_json_is_one_document(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The machine form has a schema, codes, and the same verdict."""
    assert main(["explain", "claim/two", "--cluster", small, "-o", "json", "--suggest"]) == 1

    document = json.loads(capsys.readouterr().out)
    (answer,) = document["answers"]
    assert document["schemaVersion"] == "claimfit.dev/explain/v1"
    assert (answer["fits"], answer["outcome"]) == (False, "pending")
    assert [row["reason"] for row in answer["devices"]] == ["device-in-use", None]
    assert {item["flag"] for item in answer["wouldWork"]} == {"--count 1", "--free default/held"}
    assert answer["nodes"][0]["missingDevices"] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["explain"], "CLI001"),
        (["explain", "pod/p", "-f", "x"], "CLI001"),
        (["explain", "pod/p"], "CLI001"),
        (["explain", "deployment/p", "--cluster", "CLUSTER"], "EXP006"),
        (["explain", "pod", "--cluster", "CLUSTER"], "EXP006"),
        (["explain", "pod/none", "--cluster", "CLUSTER"], "EXP007"),
        (["explain", "claim/two", "--cluster", "CLUSTER", "--node", "m"], "EXP009"),
        (["explain", "claim/two", "--cluster", "CLUSTER", "--kubernetes", "1.20"], "DRA101"),
        (["explain", "claim/two", "--cluster", "CLUSTER", "--feature-gates", "No=true"], "DRA102"),
        (["explain", "-f", "-", "--cluster", "-"], "CLI001"),
        (["simulate", "-f", "CLUSTER", "--cluster", "no-such-file"], "FIL101"),
        (["devices"], "CLI001"),
        (["devices", "--cluster", "CLUSTER", "--where", "device."], "CEL001"),
        (["devices", "--cluster", "CLUSTER", "--where", "1"], "CEL002"),
    ],
)
def test_wrong_use_is_coded(
    arguments: list[str], code: str, small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 with the code of what is wrong."""
    given = [small if item == "CLUSTER" else item for item in arguments]

    assert main(given) == 2
    assert f"error {code}: " in capsys.readouterr().err


def test_manifests_that_ask_for_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of nodes alone asks no question."""
    nodes = saved(tmp_path, node("n"))

    assert main(["explain", "-f", nodes]) == 2
    assert main(["simulate", "-f", nodes]) == 2
    assert capsys.readouterr().err.count("error EXP008: ") == 2


def test_the_rules_follow_the_kubelets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The newest kubelet tells the version, unless --kubernetes does; unknown ones do not."""
    nodes = [node(name) for name in ("a", "b", "c")]
    for item, version in zip(nodes, ("v1.34.2", "v1.35.1+k3s1", "v1.99.0"), strict=True):
        item["status"]["nodeInfo"] = {"kubeletVersion": version}
    path = saved(tmp_path, *nodes, claim("want"), gpu_class())

    main(["explain", "claim/want", "--cluster", path])
    assert "rules of Kubernetes 1.35)" in capsys.readouterr().out
    main(["explain", "claim/want", "--cluster", path, "--kubernetes", "1.37"])
    assert "rules of Kubernetes 1.37)" in capsys.readouterr().out


def test_names_cannot_fake_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters in names of products and devices are printed as what they are."""
    hostile = device("g0\nFits: all is well")
    hostile["attributes"]["productName"]["string"] = "\x1b[2J"
    path = saved(tmp_path, published("n", hostile), gpu_class(), claim("want", 2))

    main(["explain", "claim/want", "--cluster", path])

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\nFits: all" not in out


def test_a_broken_cluster_is_an_error_with_a_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong types and amounts that are none end with a code, not with a trace."""
    wrong_type = published("n", {"name": 5})
    wrong_amount = published("n", device("g", "80Q"))

    assert main([*BROKEN, saved(tmp_path, wrong_type, claim("want"))]) == 2
    assert "error DRA001: " in capsys.readouterr().err
    selector = "device.capacity['gpu.test'].memory.compareTo(quantity('80Gi')) >= 0"
    path = saved(tmp_path, wrong_amount, gpu_class(), claim("want", 1, selector))
    assert main([*BROKEN, path]) in {1, 2}
    assert "defect of claimfit" not in capsys.readouterr().err


def test_simulate_writes_claims(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The allocated claim can be applied: it has apiVersion, kind and status."""
    assert main(["simulate", "-f", small, "-o", "yaml"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n")
    assert "device: g1" in out


def test_simulate_text_and_json_agree(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One pod is placed on the one node, and one device less is free."""
    assert main(["simulate", "-f", small]) == 0
    assert capsys.readouterr().out.startswith("1 of 1 pod placed on 1 of 1 node.\n")
    assert main(["simulate", "-f", small, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["groups"][0]["pods"] == [{"pod": "default/p", "node": "n"}]
    assert [(item["before"], item["after"]) for item in document["free"]] == [(1, 0)]


def test_devices_are_listed_and_filtered(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Two devices, one free; an expression keeps those for which it is true."""
    assert main(["devices", "--cluster", small]) == 0
    out = capsys.readouterr().out
    assert "claim default/held" in out
    assert out.endswith("2 devices, 1 free\n")
    assert main(["devices", "--cluster", small, "--where", "device.driver == 'no'"]) == 1
    assert capsys.readouterr().out == "0 devices that match, 0 free\n"
    failing = "device.attributes['gpu.test'].nothing == 'x'"
    assert main(["devices", "--cluster", small, "--where", failing, "-o", "json"]) == 1
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert errors[0] == {"device": "n/g0", "error": "no such key: nothing"}
