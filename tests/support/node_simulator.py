"""Plays the kubelets of all nodes towards an API server: `-m support.node_simulator KUBECONFIG`.

It renews the lease of each node, reports a node Ready that has not said so or was given up, runs
pods that are bound to a node (once their claims are allocated and reserved for them, as a kubelet
checks), and confirms the deletion of pods. No container runs and no driver is called.
"""

from __future__ import annotations

import datetime as dt
import functools
import http.client
import itertools
import logging
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from support.api_client import ApiClient, ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.api_client import Object

__all__ = ["NodeSimulator"]

_BEAT_SECONDS: Final = 10
"""As a kubelet renews its lease; controllers give a node up after 40 s (50 s from 1.32)."""
_PAUSE_SECONDS: Final = 1
"""Before the next try when the API server does not answer."""
_WATCH_SECONDS: Final = 300
_NODES: Final = "/api/v1/nodes"
_PODS: Final = "/api/v1/pods"
_CLAIMS: Final = "/apis/resource.k8s.io/v1/resourceclaims"
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_log = logging.getLogger("node-simulator")


class NodeSimulator:
    """Does the work of kubelets through a client."""

    def __init__(self, client: ApiClient) -> None:
        """Take a client that may write nodes, leases and pods."""
        self.client = client
        self.nodes: set[str] = set()
        self._addresses = itertools.count(1)
        self._turn = threading.Lock()

    def run(self) -> None:
        """Serve nodes and pods for as long as the process lasts."""
        followed: list[tuple[str, Callable[[str, Object], None], dict[str, str]]] = [
            (_NODES, self.meet_node, {}),
            (_CLAIMS, self.meet_claim, {}),
            (_PODS, self.meet_pod, {"fieldSelector": "spec.nodeName!="}),
        ]
        for path, meet, query in followed:
            threading.Thread(target=self._follow, args=(path, meet, query), daemon=True).start()
        beat = threading.Event()
        while not beat.wait(_BEAT_SECONDS):
            for name in sorted(self.nodes):
                self._carefully(f"lease of {name}", functools.partial(self._renew, name))

    def _follow(
        self, path: str, meet: Callable[[str, Object], None], query: dict[str, str]
    ) -> None:
        """Meet each object of a collection and each change of it."""
        pause = threading.Event()
        while True:
            try:
                listed = self.client.get(f"{path}?{urlencode(query)}")
                for item in listed["items"]:
                    self._meet("ADDED", item, meet)
                since = listed["metadata"]["resourceVersion"]
                for event, item in self.client.watch(
                    path, _WATCH_SECONDS, resourceVersion=since, **query
                ):
                    if event == "ERROR":  # too old a version: list again
                        break
                    self._meet(event, item, meet)
            except (ApiError, OSError, http.client.HTTPException) as error:
                _log.warning("%s: %s", path, error)
                pause.wait(_PAUSE_SECONDS)

    def _meet(self, event: str, item: Object, meet: Callable[[str, Object], None]) -> None:
        with self._turn:  # a pod is met by its own changes and by those of its claims
            self._carefully(item["metadata"]["name"], lambda: meet(event, item))

    def _carefully(self, what: str, work: Callable[[], None]) -> None:
        """Do what may come too late: the object may have changed or gone meanwhile."""
        try:
            work()
        except (ApiError, OSError, http.client.HTTPException) as error:
            _log.warning("%s: %s", what, error)

    # nodes

    def meet_node(self, event: str, node: Object) -> None:
        """Keep a lease for a node, and report it Ready unless someone reports otherwise."""
        name = node["metadata"]["name"]
        if event == "DELETED":
            self.nodes.discard(name)
            return
        if name not in self.nodes:
            self._renew(name)
            self.nodes.add(name)
        others = node.get("status", {}).get("conditions", [])
        ready = next((item["status"] for item in others if item["type"] == "Ready"), "Unknown")
        if ready == "Unknown":  # never reported, or given up by the node lifecycle controller
            report = _condition("Ready", "KubeletReady")
            report["lastHeartbeatTime"] = report["lastTransitionTime"]
            others = [item for item in others if item["type"] != "Ready"]
            change = {"conditions": [*others, report]}
            self.client.patch(f"{_NODES}/{name}/status", _status_change(node, change))

    def _renew(self, name: str) -> None:
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}
        if self.client.find(f"{_LEASES}/{name}"):
            self.client.patch(f"{_LEASES}/{name}", {"spec": spec})
            return
        metadata = {"name": name, "namespace": "kube-node-lease"}
        self.client.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": spec,
            }
        )

    # pods

    def meet_claim(self, event: str, claim: Object) -> None:
        """Look again at the pods that a claim is reserved for: they may start now."""
        if event == "DELETED":
            return
        namespace = claim["metadata"]["namespace"]
        for user in claim.get("status", {}).get("reservedFor", []):
            pod = self.client.find(f"/api/v1/namespaces/{namespace}/pods/{user['name']}")
            if pod and pod["spec"].get("nodeName") and pod["metadata"]["uid"] == user["uid"]:
                self.meet_pod("MODIFIED", pod)

    def meet_pod(self, event: str, pod: Object) -> None:
        """Run a pod that is bound, or confirm that it is gone."""
        metadata = pod["metadata"]
        if event == "DELETED":
            return
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if "deletionTimestamp" in metadata:
            same = {"uid": metadata["uid"]}
            self.client.delete(path, gracePeriodSeconds=0, preconditions=same)
        elif pod["status"].get("phase") == "Pending" and self._has_claims(pod):
            address = next(self._addresses)
            change = _status_change(pod, _running(pod, address))
            self.client.patch(f"{path}/status", change)

    def _has_claims(self, pod: Object) -> bool:
        """Whether each claim of a pod is allocated and reserved for it."""
        metadata, spec = pod["metadata"], pod["spec"]
        made = {
            item["name"]: item.get("resourceClaimName")
            for item in pod["status"].get("resourceClaimStatuses", [])
        }
        for entry in spec.get("resourceClaims", []):
            own = entry["name"] in made and made[entry["name"]] is None  # no claim was needed
            name = entry.get("resourceClaimName") or made.get(entry["name"])
            if own:
                continue
            kinds = f"/apis/resource.k8s.io/v1/namespaces/{metadata['namespace']}/resourceclaims"
            claim = self.client.find(f"{kinds}/{name}") if name else None
            status = claim.get("status", {}) if claim else {}
            users = [user["uid"] for user in status.get("reservedFor", [])]
            if "allocation" not in status or metadata["uid"] not in users:
                return False
        return True


def _status_change(item: Object, status: Object) -> Object:
    """Return a change that is refused when the object is not any more as it was met.

    Nothing is lost by that: whatever changed it is met next.
    """
    return {
        "metadata": {"resourceVersion": item["metadata"]["resourceVersion"]},
        "status": status,
    }


def _running(pod: Object, number: int) -> Object:
    """Return the status of a pod whose containers all run and are ready."""
    now = _now()
    address = f"10.244.{number // 250 % 250}.{number % 250 + 1}"
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": "192.0.2.1",
        "hostIPs": [{"ip": "192.0.2.1"}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [
            *pod["status"].get("conditions", []),
            *(_condition(name, "") for name in ("Initialized", "ContainersReady", "Ready")),
        ],
        "containerStatuses": [
            {
                "name": item["name"],
                "image": item["image"],
                "imageID": "",
                "containerID": f"simulated://{pod['metadata']['uid']}/{item['name']}",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for item in pod["spec"]["containers"]
        ],
    }


def _condition(kind: str, reason: str) -> Object:
    named = {"reason": reason} if reason else {}
    return {"type": kind, "status": "True", "lastTransitionTime": _now(), **named}


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(message)s")
    NodeSimulator(ApiClient.from_kubeconfig(Path(sys.argv[1]))).run()
