"""Hand-written invalid objects of the platform kinds, each with the field that the answer names.

Every case starts from the first document of `examples/<kind>.yaml` and changes a few fields of it.
"""

from typing import Any, Final

from tests.support.rejections import REMOVED, Rejection

UUID = "11111111-2222-3333-4444-555555555555"


def _ovs_node() -> list[Rejection]:
    kind = "ovsnode"
    return [
        Rejection(kind, {"spec.nodeRef": REMOVED}, "spec.nodeRef"),
        Rejection(kind, {"spec.nodeRef.name": ""}, "spec.nodeRef.name"),
        Rejection(kind, {"spec.nodeRef.name": "Node_1"}, "spec.nodeRef.name"),
        Rejection(kind, {"spec.nodeRef.name": "other"}, "name is immutable", "update"),
        Rejection(kind, {"status.bridges": [{"ports": 1}]}, "status.bridges[0].name", "status"),
        Rejection(
            kind,
            {"status.issues": [{"severity": "Panic", "message": "link is down"}]},
            "status.issues[0].severity",
            "status",
        ),
        Rejection(
            kind,
            {"status.bridges": [{"name": "br-int"}, {"name": "br-int"}]},
            "status.bridges[1]",
            "status",
        ),
    ]


def _hypervisor() -> list[Rejection]:
    kind = "hypervisor"
    group = {"trait": {"name": "CUSTOM_A"}, "aggregate": {"name": "a", "uuid": UUID}}
    return [
        Rejection(kind, {"spec.maintenance": "manual"}, "maintenanceReason: required"),
        Rejection(
            kind,
            {"spec.maintenance": "manual", "spec.maintenanceReason": ""},
            "maintenanceReason: required",
        ),
        Rejection(kind, {"spec.maintenance": "later"}, "spec.maintenance"),
        Rejection(kind, {"spec.overcommit.cpu": 0.5}, "spec.overcommit.cpu"),
        Rejection(kind, {"spec.overcommit.cpu": "4"}, "spec.overcommit.cpu"),
        Rejection(kind, {"spec.customTraits": ["NVME"]}, "spec.customTraits[0]"),
        Rejection(kind, {"spec.customTraits": ["CUSTOM_A", "CUSTOM_A"]}, "spec.customTraits[1]"),
        Rejection(kind, {"spec.aggregates": [""]}, "spec.aggregates[0]"),
        Rejection(kind, {"spec.allowedProjects": ["a b"]}, "spec.allowedProjects[0]"),
        Rejection(kind, {"spec.version": "../escape"}, "spec.version"),
        Rejection(kind, {"spec.groups": [group]}, "spec.groups[0]"),
        Rejection(kind, {"spec.groups": [{}]}, "spec.groups[0]"),
        Rejection(kind, {"spec.groups.1.aggregate.uuid": "zone-a"}, "aggregate.uuid"),
        Rejection(kind, {"spec.reboot": "yes"}, "spec.reboot"),
    ]


def _eviction() -> list[Rejection]:
    kind = "eviction"
    return [
        Rejection(kind, {"spec.hypervisor": REMOVED}, "spec.hypervisor"),
        Rejection(kind, {"spec.hypervisor": ""}, "spec.hypervisor"),
        Rejection(kind, {"spec.hypervisor": "Host 1"}, "spec.hypervisor"),
        Rejection(kind, {"spec.reason": REMOVED}, "spec.reason"),
        Rejection(kind, {"spec.reason": ""}, "spec.reason"),
        Rejection(kind, {"spec.reason": "x" * 1025}, "spec.reason"),
        Rejection(kind, {"spec.hypervisor": "other"}, "hypervisor is immutable", "update"),
        Rejection(kind, {"status.outstandingRamMb": "1 GiB"}, "status.outstandingRamMb", "status"),
    ]


def _migration() -> list[Rejection]:
    kind = "migration"
    return [
        Rejection(kind, {"spec": REMOVED}, "spec: Required value"),
        Rejection(kind, {"status.memIteration": -1}, "status.memIteration", "status"),
        Rejection(kind, {"status.memNormal": -1}, "status.memNormal", "status"),
        Rejection(kind, {"status.started": "yesterday"}, "status.started", "status"),
        Rejection(kind, {"status.dataTotal": 4096}, "status.dataTotal", "status"),
        Rejection(
            kind,
            {"status.conditions": [{"type": "Ready", "status": "Yes"}]},
            "status.conditions[0].status",
            "status",
        ),
    ]


def _remote_cluster() -> list[Rejection]:
    kind = "remotecluster"
    return [
        Rejection(kind, {"spec.timeout": "2m"}, "timeout: must be"),
        Rejection(kind, {"spec.timeout": "0s"}, "timeout: must be"),
        Rejection(kind, {"spec.timeout": "soon"}, "spec.timeout"),
        Rejection(
            kind, {"spec.checkInterval": "0s", "spec.timeout": "0s"}, "checkInterval: must be"
        ),
        Rejection(kind, {"spec.checkInterval": "60"}, "spec.checkInterval"),
        Rejection(kind, {"spec.accesskeyRef.key": "a/b"}, "spec.accesskeyRef.key"),
        Rejection(kind, {"spec.accesskeyRef.name": "Secret"}, "spec.accesskeyRef.name"),
        Rejection(kind, {"spec.namespace": "other"}, "namespace is immutable", "update"),
        Rejection(kind, {"status.state": "Fine"}, "status.state", "status"),
    ]


def _remote_arbiter() -> list[Rejection]:
    kind = "remotearbiter"
    inline = {"namespace": "external-arbiter"}
    return [
        Rejection(kind, {"spec.remoteCluster": {}}, "remoteCluster: set exactly one"),
        Rejection(kind, {"spec.remoteCluster.spec": inline}, "remoteCluster: set exactly one"),
        Rejection(kind, {"spec.remoteCluster": REMOVED}, "spec.remoteCluster"),
        Rejection(
            kind,
            {"spec.remoteCluster": {"spec": {"timeout": "5m"}}},
            "spec.remoteCluster.spec.timeout",
        ),
        Rejection(kind, {"spec.cephCluster.name": REMOVED}, "spec.cephCluster.name"),
        Rejection(kind, {"spec.monIdPrefix": "ext"}, "spec.monIdPrefix"),
        Rejection(kind, {"spec.service.nodeIp": REMOVED}, "nodeIp: required"),
        Rejection(kind, {"spec.service.type": "ClusterIP"}, "nodeIp: required"),
        Rejection(kind, {"spec.service.nodeIp": "300.0.2.10"}, "spec.service.nodeIp"),
        Rejection(kind, {"spec.service.type": "Ingress"}, "spec.service.type"),
        Rejection(
            kind,
            {"spec.deployment.resources.requests.cpu": "much"},
            "spec.deployment.resources.requests.cpu",
        ),
        Rejection(kind, {"spec.cephCluster.name": "other"}, "cephCluster is immutable", "update"),
        Rejection(kind, {"spec.monIdPrefix": "arb-"}, "monIdPrefix is immutable", "update"),
        Rejection(kind, {"spec.remoteCluster.name": "other"}, "name is immutable", "update"),
        Rejection(kind, {"spec.remoteCluster": {"spec": inline}}, "name is immutable", "update"),
    ]


def _cortex() -> list[Rejection]:
    kind = "cortex"
    filters = "spec.pipelines.nova.filters"
    return [
        Rejection(kind, {"spec.replicas": 0}, "spec.replicas"),
        Rejection(kind, {"spec.image.tag": REMOVED}, "image: set exactly one"),
        Rejection(kind, {"spec.database": REMOVED}, "spec.database"),
        Rejection(
            kind,
            {"spec.database.host": "db", "spec.database.clusterRef": {"name": "db"}},
            "database: set at most one",
        ),
        Rejection(kind, {"spec.keystone.authUrl": "keystone:5000"}, "spec.keystone.authUrl"),
        Rejection(
            kind, {"spec.keystone.appCredentialRef": {}}, "appCredentialRef: set exactly one"
        ),
        Rejection(kind, {"spec.datasources.prometheus.endpoint": REMOVED}, "endpoint: required"),
        Rejection(
            kind, {"spec.datasources.nova.endpoint": "nova"}, "spec.datasources.nova.endpoint"
        ),
        Rejection(kind, {filters: [{"name": "A"}, {"name": "A"}]}, f"{filters}[1]"),
        Rejection(kind, {filters: [{"name": ""}]}, f"{filters}[0].name"),
        Rejection(
            kind,
            {"spec.pipelines.nova.weighers.0.weight": 1001},
            "spec.pipelines.nova.weighers[0].weight",
        ),
        Rejection(
            kind,
            {"spec.pipelines.nova.weighers.0.weight": "1.0"},
            "spec.pipelines.nova.weighers[0].weight",
        ),
        Rejection(kind, {"spec.dependsOn.0.kind": "nova"}, "spec.dependsOn[0].kind"),
        Rejection(kind, {"spec.database.database": "other"}, "database is immutable", "update"),
    ]


def _datasource() -> list[Rejection]:
    kind = "datasource"
    query: dict[str, Any] = {"query": "up", "alias": "up", "type": "up"}
    metrics: dict[str, Any] = {"spec.type": "prometheus", "spec.openstack": REMOVED}
    return [
        Rejection(kind, {"spec.type": "prometheus"}, "prometheus: required when"),
        Rejection(kind, {"spec.prometheus": query}, "prometheus: required when"),
        Rejection(kind, {"spec.openstack": REMOVED}, "openstack: required when"),
        Rejection(kind, {"spec.type": "file"}, "spec.type"),
        Rejection(kind, {"spec.schedulingDomain": "swift"}, "spec.schedulingDomain"),
        Rejection(
            kind, {"spec.openstack.cinder": {"type": "storagePools"}}, "cinder: only allowed"
        ),
        Rejection(kind, {"spec.openstack.type": "placement"}, "nova: only allowed"),
        Rejection(kind, {"spec.openstack.nova.type": "volumes"}, "spec.openstack.nova.type"),
        Rejection(
            kind,
            {"spec.openstack.nova.deletedServersChangesSinceMinutes": 5},
            "deletedServersChangesSinceMinutes: only allowed",
        ),
        Rejection(kind, {"spec.openstack.syncInterval": "0s"}, "syncInterval: must be"),
        Rejection(kind, {"spec.openstack.secretRef.namespace": REMOVED}, "secretRef.namespace"),
        Rejection(
            kind,
            {**metrics, "spec.prometheus": {**query, "resolution": "48h"}},
            "resolution: must be",
        ),
        Rejection(
            kind, {**metrics, "spec.prometheus": {**query, "timeRange": "1h"}}, "interval: must be"
        ),
        Rejection(
            kind, {**metrics, "spec.prometheus": {**query, "query": ""}}, "spec.prometheus.query"
        ),
        Rejection(kind, {**metrics, "spec.prometheus": query}, "type is immutable", "update"),
    ]


def _knowledge() -> list[Rejection]:
    kind = "knowledge"
    twice = [{"name": "nova-servers"}, {"name": "nova-servers"}]
    return [
        Rejection(kind, {"spec.extractor": REMOVED}, "spec.extractor"),
        Rejection(kind, {"spec.extractor.name": "Host Utilization"}, "spec.extractor.name"),
        Rejection(kind, {"spec.extractor.config": "fast"}, "spec.extractor.config"),
        Rejection(kind, {"spec.recency": "0s"}, "recency: must be"),
        Rejection(kind, {"spec.recency": "a minute"}, "spec.recency"),
        Rejection(kind, {"spec.schedulingDomain": REMOVED}, "spec.schedulingDomain"),
        Rejection(
            kind, {"spec.dependencies.datasources": twice}, "spec.dependencies.datasources[1]"
        ),
    ]


def _kpi() -> list[Rejection]:
    kind = "kpi"
    return [
        Rejection(kind, {"spec.impl": REMOVED}, "spec.impl"),
        Rejection(kind, {"spec.impl": "host utilization"}, "spec.impl"),
        Rejection(kind, {"spec.opts": []}, "spec.opts"),
        Rejection(kind, {"spec.schedulingDomain": "compute"}, "spec.schedulingDomain"),
        Rejection(
            kind,
            {"spec.dependencies.knowledges": [{}]},
            "spec.dependencies.knowledges[0].name",
        ),
        Rejection(kind, {"spec.description": "x" * 1025}, "spec.description"),
    ]


def _pipeline() -> list[Rejection]:
    kind = "pipeline"
    steps = [{"name": "avoid_high_steal_pct"}]
    params = "spec.filters.2.params"
    return [
        Rejection(kind, {"spec.detectors": steps}, "detectors: at least one"),
        Rejection(
            kind, {"spec.type": "detector", "spec.weighers": REMOVED}, "filters: only allowed"
        ),
        Rejection(
            kind,
            {"spec.type": "detector", "spec.filters": REMOVED, "spec.detectors": steps},
            "weighers: only allowed",
        ),
        Rejection(
            kind,
            {"spec.type": "detector", "spec.filters": REMOVED, "spec.weighers": REMOVED},
            "detectors: at least one",
        ),
        Rejection(kind, {"spec.type": "sorter"}, "spec.type"),
        Rejection(kind, {params: [{"key": "a"}]}, "params: set exactly one"),
        Rejection(
            kind,
            {params: [{"key": "a", "intValue": 1, "boolValue": True}]},
            "params: set exactly one",
        ),
        Rejection(kind, {params: [{"intValue": 1}]}, "spec.filters[2].params[0].key"),
        Rejection(kind, {params: [{"key": "a", "intValue": 1.5}]}, "params[0].intValue"),
        Rejection(kind, {"spec.weighers.0.multiplier": -1001}, "spec.weighers[0].multiplier"),
        Rejection(kind, {"spec.filters.1.name": "filter_status_conditions"}, "spec.filters[1]"),
        Rejection(
            kind, {"spec.schedulingDomain": "cinder"}, "schedulingDomain is immutable", "update"
        ),
    ]


def _decision() -> list[Rejection]:
    kind = "decision"
    pod = {"name": "a", "namespace": "b"}
    return [
        Rejection(kind, {"spec.novaRaw": REMOVED}, "novaRaw: required when"),
        Rejection(kind, {"spec.cinderRaw": {}}, "cinderRaw: required when"),
        Rejection(kind, {"spec.podRef": pod}, "podRef: required when"),
        Rejection(
            kind, {"spec.schedulingDomain": "pods", "spec.podRef": pod}, "novaRaw: required when"
        ),
        Rejection(
            kind,
            {"spec.schedulingDomain": "machines", "spec.novaRaw": REMOVED},
            "machineRef: required when",
        ),
        Rejection(kind, {"spec.pipelineRef": {}}, "spec.pipelineRef.name"),
        Rejection(kind, {"spec.resourceID": ""}, "spec.resourceID"),
        Rejection(kind, {"spec.resourceID": "other"}, "resourceID is immutable", "update"),
        Rejection(kind, {"spec.intent": REMOVED}, "intent is immutable", "update"),
        Rejection(kind, {"spec.pipelineRef.name": "other"}, "pipelineRef is immutable", "update"),
    ]


def _descheduling() -> list[Rejection]:
    kind = "descheduling"
    return [
        Rejection(kind, {"spec.ref": "server-1"}, "spec.ref"),
        Rejection(kind, {"spec.ref": REMOVED}, "spec.ref"),
        Rejection(kind, {"spec.refType": "name"}, "spec.refType"),
        Rejection(kind, {"spec.prevHost": ""}, "spec.prevHost"),
        Rejection(kind, {"spec.prevHostType": "node"}, "spec.prevHostType"),
        Rejection(kind, {"spec.reason": ""}, "spec.reason"),
        Rejection(kind, {"spec.ref": UUID}, "ref is immutable", "update"),
        Rejection(kind, {"spec.prevHost": "other"}, "prevHost is immutable", "update"),
    ]


def _reservation() -> list[Rejection]:
    kind = "reservation"
    paid = "spec.committedResourceReservation"
    return [
        Rejection(kind, {paid: REMOVED}, "committedResourceReservation: required when"),
        Rejection(kind, {"spec.failoverReservation": {}}, "failoverReservation: required when"),
        Rejection(
            kind,
            {"spec.inFlightReservation": {"vmID": UUID}},
            "inFlightReservation: required when",
        ),
        Rejection(kind, {"spec.type": "Holiday"}, "spec.type"),
        Rejection(kind, {"spec.endTime": "2025-12-31T00:00:00Z"}, "endTime: must be"),
        Rejection(kind, {"spec.startTime": "January"}, "spec.startTime"),
        Rejection(kind, {"spec.resources": {}}, "spec.resources"),
        Rejection(kind, {"spec.resources.memory": "64 GB"}, "spec.resources.memory"),
        Rejection(kind, {f"{paid}.projectID": REMOVED}, f"{paid}.projectID"),
        Rejection(kind, {f"{paid}.commitmentUUID": "first"}, f"{paid}.commitmentUUID"),
        Rejection(kind, {"spec.targetHost": ""}, "spec.targetHost"),
        Rejection(
            kind,
            {"spec.type": "FailoverReservation", paid: REMOVED, "spec.failoverReservation": {}},
            "type is immutable",
            "update",
        ),
    ]


REJECTIONS: Final = [
    *_ovs_node(),
    *_hypervisor(),
    *_eviction(),
    *_migration(),
    *_remote_cluster(),
    *_remote_arbiter(),
    *_cortex(),
    *_datasource(),
    *_knowledge(),
    *_kpi(),
    *_pipeline(),
    *_decision(),
    *_descheduling(),
    *_reservation(),
]
