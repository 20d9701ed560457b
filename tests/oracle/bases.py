"""Pod templates that Kubernetes takes as they are: the mutations start from them.

Between them they use every field of a pod template that the API server of our version looks at.
"""


def container(name="main", **fields):
    """A container with a name and an image."""
    return {"name": name, "image": "busybox:1.36", **fields}


def template(metadata=None, **spec):
    """A template with one container unless told otherwise."""
    return {"metadata": metadata or {"labels": {"app": "demo"}},
            "spec": {"containers": [container()], **spec}}


def minimal():
    return {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}


def metadata():
    return template(metadata={
        "labels": {"app": "demo", "example.com/part-of": "suite", "empty": ""},
        "annotations": {"example.com/note": "any text: \u00e4, \"quoted\"",
                        "controller.kubernetes.io/pod-deletion-cost": "-10",
                        "scheduler.alpha.kubernetes.io/node-selector": "a=b"},
        "finalizers": ["example.com/guard"], "name": "ignored"})


DISKS = [
    {"name": "empty", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    {"name": "host", "hostPath": {"path": "/var/log", "type": "DirectoryOrCreate"}},
    {"name": "gce", "gcePersistentDisk": {"pdName": "disk-1", "fsType": "ext4", "partition": 1}},
    {"name": "aws", "awsElasticBlockStore": {"volumeID": "vol-1", "fsType": "ext4",
                                             "partition": 2}},
    {"name": "git", "gitRepo": {"repository": "https://example.com/r.git", "revision": "HEAD",
                                "directory": "sub/dir"}},
    {"name": "nfs", "nfs": {"server": "nfs.example.com", "path": "/export", "readOnly": True}},
    {"name": "iscsi", "iscsi": {
        "targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:storage.disk1", "lun": 5,
        "iscsiInterface": "default", "fsType": "ext4", "portals": ["10.0.0.2:3260"],
        "initiatorName": "iqn.1994-05.com.redhat:node1", "chapAuthSession": True,
        "secretRef": {"name": "chap"}}},
    {"name": "glusterfs", "glusterfs": {"endpoints": "cluster", "path": "/vol"}},
    {"name": "rbd", "rbd": {"monitors": ["10.0.0.1:6789"], "image": "foo", "pool": "rbd",
                            "user": "admin", "keyring": "/etc/keyring", "fsType": "ext4",
                            "secretRef": {"name": "ceph"}}},
    {"name": "flex", "flexVolume": {"driver": "example.com/driver", "fsType": "ext4",
                                    "options": {"a": "b"}, "secretRef": {"name": "flex"}}},
    {"name": "cinder", "cinder": {"volumeID": "vol", "fsType": "ext4",
                                  "secretRef": {"name": "cinder"}}},
    {"name": "cephfs", "cephfs": {"monitors": ["10.0.0.1:6789"], "path": "/", "user": "admin",
                                  "secretFile": "/etc/secret", "secretRef": {"name": "ceph"}}},
    {"name": "flocker", "flocker": {"datasetName": "set"}},
    {"name": "fc", "fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0, "fsType": "ext4"}},
    {"name": "fc-wwids", "fc": {"wwids": ["3600508b400105e210000900000490000"]}},
    {"name": "azure-file", "azureFile": {"secretName": "azure", "shareName": "share"}},
    {"name": "azure-disk", "azureDisk": {
        "diskName": "disk", "diskURI": "https://example.com/disk.vhd", "cachingMode": "ReadOnly",
        "fsType": "ext4", "kind": "Dedicated"}},
    {"name": "azure-managed", "azureDisk": {
        "diskName": "disk", "diskURI": "/subscriptions/1/disk", "kind": "Managed"}},
    {"name": "vsphere", "vsphereVolume": {"volumePath": "[store] disk.vmdk", "fsType": "ext4"}},
    {"name": "quobyte", "quobyte": {"registry": "reg:7861,reg2:7861", "volume": "vol",
                                    "user": "root", "group": "root", "tenant": "t"}},
    {"name": "photon", "photonPersistentDisk": {"pdID": "pd", "fsType": "ext4"}},
    {"name": "portworx", "portworxVolume": {"volumeID": "pw", "fsType": "ext4"}},
    {"name": "scaleio", "scaleIO": {
        "gateway": "https://example.com/api", "system": "sys", "secretRef": {"name": "sio"},
        "volumeName": "vol", "storageMode": "ThinProvisioned", "fsType": "xfs"}},
    {"name": "storageos", "storageos": {"volumeName": "vol", "volumeNamespace": "ns",
                                        "fsType": "ext4", "secretRef": {"name": "sos"}}},
    {"name": "csi", "csi": {"driver": "csi.example.com", "readOnly": True, "fsType": "ext4",
                            "volumeAttributes": {"a": "b"},
                            "nodePublishSecretRef": {"name": "csi"}}},
]

FILES = [
    {"name": "secret", "secret": {"secretName": "s", "defaultMode": 256, "optional": True,
                                  "items": [{"key": "k", "path": "a/b", "mode": 511},
                                            {"key": "k2", "path": "c"}]}},
    {"name": "config", "configMap": {"name": "c", "defaultMode": 420,
                                     "items": [{"key": "k", "path": "a/b", "mode": 0}]}},
    {"name": "downward", "downwardAPI": {"defaultMode": 420, "items": [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "label", "mode": 292, "fieldRef": {"fieldPath": "metadata.labels['app']",
                                                    "apiVersion": "v1"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu",
                                             "divisor": "1m"}},
        {"path": "memory", "resourceFieldRef": {"containerName": "main", "divisor": "1Mi",
                                                "resource": "requests.memory"}}]}},
    {"name": "projected", "projected": {"defaultMode": 420, "sources": [
        {"secret": {"name": "s", "items": [{"key": "k", "path": "secret/k"}]}},
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "config/k", "mode": 256}]}},
        {"downwardAPI": {"items": [{"path": "down/name",
                                    "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"serviceAccountToken": {"audience": "vault", "expirationSeconds": 600,
                                 "path": "token"}},
        {"clusterTrustBundle": {"name": "bundle", "path": "bundle.pem", "optional": True}},
        {"clusterTrustBundle": {"signerName": "example.com/signer", "path": "signer.pem",
                                "labelSelector": {"matchLabels": {"a": "b"}}}},
        {"podCertificate": {"signerName": "example.com/signer", "keyType": "ED25519",
                            "maxExpirationSeconds": 3600, "credentialBundlePath": "pod/all.pem",
                            "userAnnotations": {"example.com/a": "b"}}},
        {"podCertificate": {"signerName": "example.com/signer", "keyType": "RSA3072",
                            "keyPath": "pod/key.pem", "certificateChainPath": "pod/c.pem"}}]}},
    {"name": "claim", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
    {"name": "ephemeral", "ephemeral": {"volumeClaimTemplate": {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                 "volumeMode": "Filesystem", "volumeAttributesClassName": "gold",
                 "selector": {"matchLabels": {"disk": "ssd"}, "matchExpressions": [
                     {"key": "tier", "operator": "In", "values": ["a", "b"]}]},
                 "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
                 "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot",
                                "name": "snap"}}}}},
    {"name": "image", "image": {"reference": "registry.example.com/model:v1",
                                "pullPolicy": "IfNotPresent"}},
]


def disks():
    mounts = [{"name": volume["name"], "mountPath": f"/mnt/{volume['name']}"} for volume in DISKS]
    return template(volumes=DISKS, containers=[container(volumeMounts=mounts)])


def files():
    mounts = [
        {"name": "secret", "mountPath": "/secret", "readOnly": True, "subPath": "a/b",
         "recursiveReadOnly": "IfPossible"},
        {"name": "config", "mountPath": "/config", "subPathExpr": "$(POD)/x"},
        {"name": "downward", "mountPath": "downward"},
        {"name": "projected", "mountPath": "/projected"},
        {"name": "claim", "mountPath": "/claim", "mountPropagation": "HostToContainer"},
        {"name": "ephemeral", "mountPath": "/ephemeral", "mountPropagation": "None",
         "recursiveReadOnly": "Disabled"},
        {"name": "image", "mountPath": "/image", "readOnly": True}]
    return template(volumes=FILES, containers=[container(volumeMounts=mounts)])


def devices():
    return template(
        volumes=[{"name": "raw", "persistentVolumeClaim": {"claimName": "raw"}},
                 {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                 {"name": "host", "hostPath": {"path": "/x"}}],
        containers=[container(
            securityContext={"privileged": True},
            volumeMounts=[{"name": "data", "mountPath": "/data",
                           "mountPropagation": "Bidirectional"},
                          {"name": "host", "mountPath": "/host", "readOnly": True,
                           "recursiveReadOnly": "Enabled"}],
            volumeDevices=[{"name": "raw", "devicePath": "/dev/xvda"}])])


def environment():
    return template(
        volumes=[{"name": "env", "emptyDir": {}}],
        containers=[container(
            env=[{"name": "PLAIN", "value": "v"},
                 {"name": "from.field", "valueFrom": {"fieldRef": {
                     "fieldPath": "status.podIP", "apiVersion": "v1"}}},
                 {"name": "label", "valueFrom": {"fieldRef": {
                     "fieldPath": "metadata.annotations['example.com/a']"}}},
                 {"name": "cpu", "valueFrom": {"resourceFieldRef": {
                     "resource": "limits.cpu", "divisor": "1", "containerName": "main"}}},
                 {"name": "secret", "valueFrom": {"secretKeyRef": {
                     "name": "s", "key": "k", "optional": True}}},
                 {"name": "config", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                 {"name": "file", "valueFrom": {"fileKeyRef": {
                     "volumeName": "env", "path": "a.env", "key": "KEY", "optional": False}}}],
            envFrom=[{"prefix": "P_", "configMapRef": {"name": "c", "optional": True}},
                     {"secretRef": {"name": "s"}}])])


HTTP = {"path": "/healthz", "port": 8080, "scheme": "HTTPS", "host": "10.0.0.1",
        "httpHeaders": [{"name": "X-Probe", "value": "yes"}]}


def probes():
    return template(
        os={"name": "linux"}, terminationGracePeriodSeconds=60, restartPolicy="Always",
        containers=[
            container(
                command=["sh"], args=["-c", "true"], workingDir="/tmp", stdin=True, stdinOnce=True,
                tty=True, imagePullPolicy="Always", terminationMessagePath="/dev/termination-log",
                terminationMessagePolicy="FallbackToLogsOnError",
                ports=[{"name": "http", "containerPort": 8080, "protocol": "TCP"},
                       {"name": "dns-udp", "containerPort": 53, "protocol": "UDP",
                        "hostPort": 5353, "hostIP": "10.0.0.1"},
                       {"containerPort": 53, "protocol": "SCTP"}],
                livenessProbe={"httpGet": HTTP, "initialDelaySeconds": 1, "timeoutSeconds": 2,
                               "periodSeconds": 3, "successThreshold": 1, "failureThreshold": 4,
                               "terminationGracePeriodSeconds": 5},
                readinessProbe={"exec": {"command": ["true"]}, "successThreshold": 2},
                startupProbe={"tcpSocket": {"port": "http", "host": "example.com"},
                              "terminationGracePeriodSeconds": 1},
                lifecycle={"postStart": {"httpGet": {"port": "http", "path": "/start"}},
                           "preStop": {"sleep": {"seconds": 5}}, "stopSignal": "SIGUSR1"},
                resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"},
                              {"resourceName": "memory", "restartPolicy": "RestartContainer"}],
                resources={"requests": {"cpu": "100m", "memory": "64Mi",
                                        "ephemeral-storage": "1Gi", "example.com/gpu": "2"},
                           "limits": {"cpu": "1", "memory": "128Mi", "ephemeral-storage": "2Gi",
                                      "example.com/gpu": 2}}),
            container(
                "second",
                livenessProbe={"grpc": {"port": 9090, "service": "health"}},
                readinessProbe={"tcpSocket": {"port": 1}},
                lifecycle={"preStop": {"exec": {"command": ["sync"]}},
                           "postStart": {"tcpSocket": {"port": 80}}},
                env=[{"name": "HOME", "value": "/"}])])


def init_containers():
    return template(
        initContainers=[
            container("init", command=["true"], env=[{"name": "A", "value": "b"}],
                      ports=[{"name": "init", "containerPort": 80, "hostPort": 8081}],
                      resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
            container("sidecar", restartPolicy="Always",
                      ports=[{"name": "http", "containerPort": 80, "hostPort": 8082}],
                      startupProbe={"httpGet": {"port": "http"}},
                      livenessProbe={"exec": {"command": ["true"]}},
                      readinessProbe={"tcpSocket": {"port": 80}},
                      lifecycle={"preStop": {"exec": {"command": ["true"]}}})],
        containers=[container("main", ports=[{"name": "http", "containerPort": 80,
                                              "hostPort": 8080}])])


SELECTOR = {"matchLabels": {"app": "demo"}, "matchExpressions": [
    {"key": "tier", "operator": "In", "values": ["front", "back"]},
    {"key": "example.com/x", "operator": "NotIn", "values": ["a"]},
    {"key": "there", "operator": "Exists"}, {"key": "gone", "operator": "DoesNotExist"}]}
TERM = {"labelSelector": SELECTOR, "topologyKey": "kubernetes.io/hostname", "namespaces": ["a"],
        "namespaceSelector": {"matchLabels": {"team": "x"}},
        "matchLabelKeys": ["pod-template-hash"], "mismatchLabelKeys": ["other"]}


def affinity():
    return template(
        nodeSelector={"disk": "ssd", "example.com/zone": "a"},
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a", "b"]},
                        {"key": "cores", "operator": "Gt", "values": ["4"]},
                        {"key": "cores", "operator": "Lt", "values": ["64"]},
                        {"key": "there", "operator": "Exists"},
                        {"key": "gone", "operator": "DoesNotExist"},
                        {"key": "arch", "operator": "NotIn", "values": ["arm64"]}],
                     "matchFields": [{"key": "metadata.name", "operator": "In",
                                      "values": ["node-1"]}]},
                    {"matchFields": [{"key": "metadata.name", "operator": "NotIn",
                                      "values": ["node-2"]}]}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 100, "preference": {"matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a"]}]}},
                    {"weight": 1, "preference": {}}]},
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [TERM],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": TERM}]},
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {}}],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 50, "podAffinityTerm": {"topologyKey": "zone"}}]}},
        tolerations=[{"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
                     {"operator": "Exists"},
                     {"key": "example.com/a", "operator": "Exists", "effect": "NoExecute",
                      "tolerationSeconds": 60},
                     {"key": "plain", "value": "", "effect": "PreferNoSchedule"}],
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": SELECTOR, "minDomains": 2, "nodeAffinityPolicy": "Honor",
             "nodeTaintsPolicy": "Ignore", "matchLabelKeys": ["pod-template-hash"]},
            {"maxSkew": 5, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"},
            {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "DoNotSchedule"}])


def security():
    return template(
        metadata={"labels": {"app": "demo"}, "annotations": {}},
        securityContext={
            "runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True, "fsGroup": 2000,
            "fsGroupChangePolicy": "OnRootMismatch", "supplementalGroups": [1, 2],
            "supplementalGroupsPolicy": "Strict", "seLinuxChangePolicy": "MountOption",
            "seLinuxOptions": {"level": "s0:c1,c2", "role": "r", "type": "t", "user": "u"},
            "seccompProfile": {"type": "Localhost", "localhostProfile": "profiles/a.json"},
            "appArmorProfile": {"type": "Localhost", "localhostProfile": "k8s-a"},
            "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"},
                        {"name": "kernel/shm_rmid_forced", "value": "1"}]},
        containers=[
            container(securityContext={
                "runAsUser": 0, "runAsGroup": 0, "runAsNonRoot": False, "privileged": False,
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "procMount": "Default", "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                "seLinuxOptions": {"level": "s0"}, "seccompProfile": {"type": "RuntimeDefault"},
                "appArmorProfile": {"type": "RuntimeDefault"}}),
            container("open", securityContext={
                "privileged": True, "seccompProfile": {"type": "Unconfined"},
                "appArmorProfile": {"type": "Unconfined"}})])


def windows():
    options = {"gmsaCredentialSpecName": "gmsa", "gmsaCredentialSpec": "spec",
               "runAsUserName": "NT AUTHORITY\\SYSTEM", "hostProcess": True}
    return template(os={"name": "windows"}, hostNetwork=True,
                    securityContext={"windowsOptions": options, "runAsNonRoot": True},
                    containers=[container(
                        securityContext={"windowsOptions": dict(options), "runAsNonRoot": False},
                        lifecycle={"stopSignal": "SIGTERM"})])


def host():
    return template(hostNetwork=True, hostPID=True, hostIPC=True, dnsPolicy="Default",
                    securityContext={"sysctls": [{"name": "vm.x", "value": "1"}]},
                    containers=[container(ports=[{"containerPort": 80, "hostPort": 80},
                                                 {"name": "b", "containerPort": 81}])])


def shared():
    return template(shareProcessNamespace=True, hostUsers=False, restartPolicy="Never",
                    containers=[container(securityContext={"procMount": "Unmasked"})])


def naming():
    return template(
        dnsPolicy="None", hostname="host-1", subdomain="sub", setHostnameAsFQDN=True,
        dnsConfig={"nameservers": ["1.1.1.1", "2606:4700::1111"],
                   "searches": ["example.com", "svc.cluster.local."],
                   "options": [{"name": "ndots", "value": "5"}, {"name": "edns0"}]},
        hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a.example.com", "b"]}, {"ip": "::1"}],
        readinessGates=[{"conditionType": "example.com/ready"}],
        schedulingGates=[{"name": "example.com/gate"}, {"name": "second"}],
        imagePullSecrets=[{"name": "pull"}], serviceAccountName="builder",
        automountServiceAccountToken=False, enableServiceLinks=False, priorityClassName="high",
        preemptionPolicy="Never", runtimeClassName="gvisor", schedulerName="volcano",
        activeDeadlineSeconds=3600, terminationGracePeriodSeconds=0, restartPolicy="OnFailure",
        overhead={"cpu": "10m", "memory": "16Mi"})


def placed():
    return template(nodeName="node-1", serviceAccount="old", priority=10,
                    hostnameOverride="override.example.com")


def pod_resources():
    return template(
        resources={"requests": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "8Mi"},
                   "limits": {"cpu": "4", "memory": "2Gi", "hugepages-2Mi": "8Mi"}},
        initContainers=[container("init", resources={"requests": {"cpu": "1"}})],
        containers=[container(resources={"requests": {"cpu": "1", "memory": "512Mi",
                                                      "hugepages-2Mi": "4Mi"},
                                         "limits": {"cpu": "2", "memory": "1Gi",
                                                    "hugepages-2Mi": "4Mi"}}),
                    container("second", resources={"requests": {"cpu": "1"}})])


def claims():
    return template(
        schedulingGroup={"podGroupName": "gang"},
        resourceClaims=[{"name": "gpu", "resourceClaimName": "shared-gpu"},
                        {"name": "nic", "resourceClaimTemplateName": "nic-template"}],
        volumes=[{"name": "huge", "emptyDir": {"medium": "HugePages-2Mi"}},
                 {"name": "bundle", "projected": {"sources": [
                     {"serviceAccountToken": {"path": "token"}}]}}],
        containers=[container(
            volumeMounts=[{"name": "huge", "mountPath": "/huge"}],
            resources={"claims": [{"name": "gpu"}, {"name": "nic", "request": "port"}],
                       "requests": {"cpu": "1", "hugepages-2Mi": "2Mi"},
                       "limits": {"hugepages-2Mi": "2Mi", "memory": "1.5Gi"}})])


def newer():
    """What Kubernetes takes since some version, and refused before."""
    return template(
        dnsConfig={"searches": ["a_b.example.com", "_tcp.example.com.", "."]},
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": "demo"}}, "matchLabelKeys": ["app"]}],
        initContainers=[
            container("sidecar", restartPolicy="Always",
                      resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
                      restartPolicyRules=[{"action": "RestartAllContainers", "exitCodes": {
                          "operator": "In", "values": [1]}}]),
            container("init", restartPolicy="OnFailure", resizePolicy=[
                {"resourceName": "memory", "restartPolicy": "NotRequired"}]),
            container("once", restartPolicy="Never", restartPolicyRules=[
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [2]}}])],
        containers=[
            container("second", env=[{"name": "a b", "value": "c"}, {"name": "1~", "value": "d"}],
                      envFrom=[{"prefix": "9 ", "configMapRef": {"name": "c"}}],
                      restartPolicy="OnFailure",
                      lifecycle={"preStop": {"sleep": {"seconds": 0}}},
                      restartPolicyRules=[{"action": "Restart", "exitCodes": {
                          "operator": "In", "values": [42, 0, 255]}}]),
            container("third", restartPolicy="Never", restartPolicyRules=[
                {"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [1]}}])])


# The API server takes all of them, and so do we.
BASES = {make.__name__: make for make in (
    minimal, metadata, disks, files, devices, environment, probes, init_containers, affinity,
    security, windows, host, shared, naming, placed, pod_resources, claims, newer)}
