"""Reads what `cobalt install` has to know about a cluster before it changes anything."""

import asyncio
from collections.abc import Iterable

import msgspec

from cobaltcore.api.foreign.kubernetes import CLUSTER_ROLE, DEPLOYMENT, NODE, STORAGE_CLASS
from cobaltcore.cli import listing
from cobaltcore.engine.diagnosis import preflight
from cobaltcore.engine.diagnosis.preflight import Target
from cobaltcore.runtime import errors
from cobaltcore.runtime.client import Client
from cobaltcore.runtime.meta import Kind, Object, WatchScope

REVIEW = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
VERBS = ("get", "create", "patch", "delete")


async def read(client: Client, wanted: Iterable[Kind], namespace: str) -> Target:
    """The facts; `wanted` are the kinds of the objects that are to be installed."""
    version = msgspec.json.decode(await client.raw("/version"))["gitVersion"]
    nodes, classes, deployments = await asyncio.gather(
        *(_listed(client, kind) for kind in (NODE, STORAGE_CLASS, DEPLOYMENT))
    )
    return Target(
        version=version,
        unserved=frozenset(await _unserved(client, preflight.kinds())),
        nodes=nodes,
        classes=classes,
        deployments=deployments,
        denied=await _denied(client, wanted, namespace),
    )


async def _listed(client: Client, kind: Kind) -> list[Object]:
    """What the user may not read counts as absent; the check of permissions comes first."""
    try:
        return await listing.objects(client, kind, WatchScope())
    except errors.Forbidden:
        return []


async def _unserved(client: Client, kinds: Iterable[Kind]) -> set[Kind]:
    wanted = set(kinds)
    versions = sorted({kind.api_version for kind in wanted})
    answers = await asyncio.gather(*(_served(client, each) for each in versions))
    served = dict(zip(versions, answers, strict=True))
    return {kind for kind in wanted if kind.plural not in served[kind.api_version]}


async def _served(client: Client, version: str) -> set[str]:
    try:
        answer = await client.raw(f"/apis/{version}")
    except errors.NotFound:
        return set()
    return {each["name"] for each in msgspec.json.decode(answer)["resources"]}


async def _denied(client: Client, wanted: Iterable[Kind], namespace: str) -> dict[str, list[str]]:
    """Verbs that the API server would refuse, by resource."""
    asked = [(kind, verb) for kind in sorted(set(wanted)) for verb in VERBS]
    # A user who grants rights has them, or may grant any.
    asked += [(CLUSTER_ROLE, "escalate"), (CLUSTER_ROLE, "bind")]
    answers = await asyncio.gather(*(_may(client, *each, namespace) for each in asked))
    denied: dict[str, list[str]] = {}
    for (kind, verb), allowed in zip(asked, answers, strict=True):
        if not allowed:
            denied.setdefault(kind.plural, []).append(verb)
    return denied


async def _may(client: Client, kind: Kind, verb: str, namespace: str) -> bool:
    place = {"namespace": namespace} if kind.namespaced else {}
    attributes = {"verb": verb, "group": kind.group, "resource": kind.plural, **place}
    body = {
        "apiVersion": REVIEW.api_version,
        "kind": REVIEW.kind,
        "metadata": {"name": ""},
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(REVIEW, body)
    return bool(answer["status"]["allowed"])
