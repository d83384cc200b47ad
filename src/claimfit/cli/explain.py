"""``claimfit explain``: why a pod or a claim does or does not get its devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claimfit.cli.arguments import Parser, add_output
from claimfit.cli.cluster_arguments import add_cluster, profile_of, read_sources
from claimfit.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from claimfit.diagnose.cluster import Cluster
    from claimfit.diagnose.question import Question
    from claimfit.diagnose.suggestions import Suggestion
    from claimfit.diagnose.tree import Answer
    from claimfit.diagnose.what_if import Change
    from claimfit.dra.reading import Objects

__all__ = ["run"]

_CHANGES: Final = ("tolerate", "relax", "free", "count")

_EPILOG = r"""examples
  claimfit explain claim/waiting -n serving --cluster sample:mixed
  kubectl get -A -o json pods,nodes,resourceslices,deviceclasses,resourceclaims,\
    resourceclaimtemplates | claimfit explain pod/chat-0 -n serving --cluster -
  claimfit explain -f deployment.yaml --cluster cluster.json --suggest
  claimfit explain claim/waiting -n serving --cluster sample:mixed --count 4 --free batch/train-0
"""


def run(argv: list[str]) -> int:
    """Explain; 0 when everything asked about fits, 1 when something does not."""
    arguments = _parser().read(argv)
    if bool(arguments.target) == bool(arguments.file):
        raise UsageError(
            "CLI001",
            "give one of TARGET and -f",
            expected="pod/NAME, claim/NAME or -f FILE",
            fix="claimfit explain pod/NAME -n NAMESPACE --cluster FILE",
        )
    if arguments.target and not arguments.cluster:
        raise UsageError("CLI001", "--cluster is missing", expected="where the object is")
    from claimfit.cli import explain_json, explain_text
    from claimfit.diagnose.cluster import Cluster

    objects, manifests = read_sources(arguments.cluster, arguments.file, arguments.add)
    profile, note = profile_of(arguments, objects)
    changes = _changes(arguments)
    cluster = Cluster(_changed(objects, changes, arguments.namespace), profile)
    questions = _questions(arguments, manifests, cluster)
    answers = [_answered(question, cluster, changes, note, arguments) for question in questions]
    if arguments.output == "json":
        explain_json.write(answers, objects, cluster, changes)
    else:
        explain_text.write(answers, objects, changes, verbose=arguments.verbose)
    return 0 if all(answer.fits for answer, _ in answers) else 1


def _parser() -> Parser:
    parser = Parser(
        prog="claimfit explain",
        description="Why a pod or a claim gets its devices or not: per node, request, device and "
        "clause, by the rules of Kubernetes; and what would change it.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "target", nargs="?", default="", metavar="TARGET", help="pod/NAME, claim/NAME"
    )
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        default=[],
        metavar="FILE",
        help="pods, workloads, claims or templates that are not in the cluster yet",
    )
    parser.add_argument("-n", "--namespace", default="default", help="of TARGET (default: default)")
    parser.add_argument("--node", default="", metavar="NAME", help="ask this node only")
    add_cluster(
        parser,
        "pods, nodes, resourceslices, deviceclasses, resourceclaims, resourceclaimtemplates and "
        "resourcequotas",
    )
    what_if = parser.add_argument_group("what if (each may be given more than once)")
    what_if.add_argument(
        "--tolerate",
        action="append",
        default=[],
        metavar="TAINT",
        help="KEY, KEY=VALUE or KEY=VALUE:EFFECT",
    )
    what_if.add_argument(
        "--relax",
        action="append",
        default=[],
        metavar="CLAUSE",
        help="drop a clause by its number, or lower it: 2, gpu:2, 2=79Gi",
    )
    what_if.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="CLAIM",
        help="a claim that gives up its devices",
    )
    what_if.add_argument(
        "--count", action="append", default=[], metavar="N", help="ask for N devices: 4, gpu:4"
    )
    what_if.add_argument(
        "--add", action="append", default=[], metavar="FILE", help="more nodes, slices or classes"
    )
    what_if.add_argument(
        "--suggest", action="store_true", help="try single changes and list those that work"
    )
    parser.add_argument("--verbose", action="store_true", help="every row, node and clause")
    add_output(parser, "text", "json")
    return parser


def _changes(arguments: argparse.Namespace) -> list[Change]:
    from claimfit.diagnose.what_if import parse_change

    return [parse_change(kind, text) for kind in _CHANGES for text in getattr(arguments, kind)]


def _changed(objects: Objects, changes: list[Change], namespace: str) -> Objects:
    from claimfit.diagnose.what_if import changed_objects

    return changed_objects(objects, changes, namespace) if changes else objects


def _questions(
    arguments: argparse.Namespace, manifests: Objects, cluster: Cluster
) -> list[Question]:
    from claimfit.diagnose.asking import questions_of, target_question

    if arguments.node:
        _keep_node(arguments.node, cluster)
    if arguments.target:
        return [target_question(arguments.target, arguments.namespace, cluster)]
    return questions_of(manifests, cluster)


def _keep_node(name: str, cluster: Cluster) -> None:
    from difflib import get_close_matches

    found = cluster.node(name)
    if found is None:
        names = [node.metadata.name for node in cluster.nodes]
        raise UsageError(
            "EXP009",
            "there is no such node",
            place="--node",
            found=name,
            expected="a node of the cluster",
            candidates=tuple(get_close_matches(name, names, 3, 0.5) or names[:5]),
        )
    cluster.nodes = [found]


def _answered(
    question: Question,
    cluster: Cluster,
    changes: list[Change],
    note: str,
    arguments: argparse.Namespace,
) -> tuple[Answer, tuple[Suggestion, ...]]:
    from claimfit.diagnose.explaining import explain
    from claimfit.diagnose.suggestions import suggestions
    from claimfit.diagnose.what_if import changed_question

    question = changed_question(question, changes, cluster.profile)
    answer = explain(question, cluster)
    if note:
        answer = answer._replace(notes=(*answer.notes, note))
    works = suggestions(question, answer, cluster) if arguments.suggest else ()
    return answer, works
