"""Claims of volumes that are not bound. Pure."""

from cobaltcore.api.foreign.kubernetes import STORAGE_CLASS
from cobaltcore.engine.diagnosis import commands
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named
from cobaltcore.runtime.meta import Key


def inspect(facts: Facts, claim: Named) -> Inspection | None:
    found = facts.get(claim.kind, claim.key)
    if found is None:
        text = f"{claim} does not exist"
        return Inspection(Cause(claim, "NotFound", text, commands.kubectl(claim, "get", "pvc")))
    phase = (found.get("status") or {}).get("phase") or "Pending"
    if phase == "Bound":
        return None
    wanted = found["spec"].get("storageClassName")
    if wanted and facts.get(STORAGE_CLASS, Key("", wanted)) is None:
        text = f"{claim} is {phase}: StorageClass {wanted!r} does not exist"
        return Inspection(Cause(claim, "StorageClassMissing", text, "kubectl get storageclasses"))
    why = facts.warning(claim) or "no volume is bound to it"
    if not wanted:
        why = f"{why}; it names no StorageClass, and there is no default one"
    return Inspection(Cause(claim, phase, f"{claim} is {phase}: {why}", commands.describe(claim)))
