"""Checks what the schemas of Kubernetes' API cannot say of our manifest: that
selectors select, that mounts have volumes, and that a worker gets whole CPUs of
its own (class Guaranteed, which the CPU manager's static policy wants)."""

import sys

import yaml

SHARED = {}
faults = []


def check(holds, what):
    if not holds:
        faults.append(what)


def check_pods(doc):
    name, spec = doc["metadata"]["name"], doc["spec"]
    labels = spec["template"]["metadata"]["labels"]
    SHARED[name] = labels
    check(spec["selector"]["matchLabels"].items() <= labels.items(), f"{name}: the selector does not select the template")
    pod = spec["template"]["spec"]
    volumes = {v["name"] for v in pod.get("volumes", [])} | {v["metadata"]["name"] for v in spec.get("volumeClaimTemplates", [])}
    mounted = set()
    for container in pod["containers"]:
        ports = {p["name"] for p in container.get("ports", [])}
        for mount in container["volumeMounts"]:
            mounted.add(mount["name"])
        probe = container.get("readinessProbe", {}).get("tcpSocket", {}).get("port")
        check(probe is None or probe in ports, f"{name}: no port {probe}")
        security = container["securityContext"]
        check(security["allowPrivilegeEscalation"] is False and security["capabilities"]["drop"] == ["ALL"], f"{name}: privileges")
        if doc["kind"] == "DaemonSet":
            given = container["resources"]
            check(given["requests"] == given["limits"] and given["limits"]["cpu"].isdigit(), f"{name}: not whole CPUs with requests equal to limits")
    check(mounted == volumes, f"{name}: volumes {sorted(volumes)}, mounts {sorted(mounted)}")


with open(sys.argv[1]) as file:
    documents = list(yaml.safe_load_all(file))
kinds = [d["kind"] for d in documents]
check(kinds == ["Service", "StatefulSet", "DaemonSet"], f"kinds {kinds}")
for document in documents[1:]:
    check_pods(document)
service = documents[0]
check(any(service["spec"]["selector"].items() <= labels.items() for labels in SHARED.values()), "the service selects no pod")
if faults:
    sys.exit("\n".join(faults))
