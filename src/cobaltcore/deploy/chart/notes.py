"""What Helm prints after an installation: the next commands. Pure."""

from cobaltcore.deploy import rbac
from cobaltcore.deploy.processes import OperatorProcess

_REMOVAL = """
CRDs, and with them all objects, stay when this release is removed.
"""


def of_all() -> str:
    return f"""Operators of CobaltCore {{{{ .Chart.AppVersion }}}} are installed in {{{{ .Release.Namespace }}}}.

Wait until they are ready:

  kubectl -n {{{{ .Release.Namespace }}}} rollout status deployment -l {rbac.LABEL}

Check what the cluster lacks, then create a cloud:

  cobalt doctor
  kubectl apply -f examples/controlplane-minimal.yaml
  kubectl get controlplanes -A -w
{_REMOVAL}"""


def of_one(process: OperatorProcess) -> str:
    served = [kind for each in process.operators for kind in each.rights.serves]
    first = served[0]
    return f"""Operator "{process.operator}" of CobaltCore {{{{ .Chart.AppVersion }}}} is installed in \
{{{{ .Release.Namespace }}}}.

Wait until it is ready, then look at what it serves:

  kubectl -n {{{{ .Release.Namespace }}}} rollout status deployment/{process.name}
  kubectl get {first.plural}.{first.group} -A
{_REMOVAL}"""
