/*
 * The rules of containers in a pod template: for each the value that just fits and the one that
 * does not, told by the field and the kind of the fault.
 */
#include "pod_testing.h"

static void test_lists(void **state)
{
    (void)state;
    check_spec("{'containers':[{'name':'a','image':'i'},{'name':'b','image':'i'}]}", "");
    check_spec("{}", "spec.containers: Required value");
    check_spec("{'containers':[]}", "spec.containers: Required value");
    check_spec("{'containers':{}}", "spec.containers: Invalid value");
    check_spec("{'containers':[{}]}", "spec.containers[0].name: Required value; "
                                      "spec.containers[0].image: Required value");
    check_spec("{'containers':[{'name':'A','image':' i'}]}",
               "spec.containers[0].name: Invalid value; spec.containers[0].image: Invalid value");
    check_spec("{'containers':[{'name':'a','image':'i'},{'name':'a','image':'i'}]}",
               "spec.containers[1].name: Duplicate value");
    check_spec("{'containers':[{'name':'a','image':'i'}],"
               "'ephemeralContainers':[{'name':'d','image':'i'}]}",
               "spec.ephemeralContainers: Forbidden");
}

static void test_names_at_limit(void **state)
{
    (void)state;
    struct buf spec = BUF_INIT(4096);
    char name[65] = "";
    memset(name, 'n', 63);
    buf_printf(&spec, "{'containers':[{'name':'%s','image':'i'}]}", name);
    check_spec(buf_cstr(&spec), "");
    name[63] = 'n';
    buf_clear(&spec);
    buf_printf(&spec, "{'containers':[{'name':'%s','image':'i'}]}", name);
    check_spec(buf_cstr(&spec), "spec.containers[0].name: Invalid value");
    buf_clear(&spec);
}

static void test_policies(void **state)
{
    (void)state;
    CHECK_ALL({"", ""}, {"'imagePullPolicy':'Never','terminationMessagePolicy':'File'", ""},
              {"'imagePullPolicy':'never'", "@.imagePullPolicy: Unsupported value"},
              {"'imagePullPolicy':''", ""},
              {"'terminationMessagePolicy':'Log'", "@.terminationMessagePolicy: Unsupported value"},
              {"'restartPolicy':'Always'", ""}, {"'restartPolicy':'Never'", ""},
              {"'restartPolicy':'OnFailure','restartPolicyRules':[]", ""},
              {"'restartPolicy':'always'", "@.restartPolicy: Unsupported value"},
              {"'restartPolicy':''", "@.restartPolicy: Unsupported value"},
              {"'restartPolicy':null,'restartPolicyRules':[]", ""},
              {"'tty':1", "@.tty: Invalid value"});
}

static void test_ports(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'ports':[{'containerPort':1},{'containerPort':65535,'protocol':'UDP'}]", ""},
        {"'ports':[{'containerPort':65536}]", "@.ports[0].containerPort: Invalid value"},
        {"'ports':[{'containerPort':-1}]", "@.ports[0].containerPort: Invalid value"},
        {"'ports':[{}]", "@.ports[0].containerPort: Required value"},
        {"'ports':[{'containerPort':1,'hostPort':65535}]", ""},
        {"'ports':[{'containerPort':1,'hostPort':65536}]", "@.ports[0].hostPort: Invalid value"},
        {"'ports':[{'containerPort':1,'protocol':'tcp'}]",
         "@.ports[0].protocol: Unsupported value"},
        {"'ports':[{'containerPort':1,'name':'fifteen-letters'}]", ""},
        {"'ports':[{'containerPort':1,'name':'sixteen-letters-'}]",
         "@.ports[0].name: Invalid value"},
        {"'ports':[{'containerPort':1,'name':'a'},{'containerPort':2,'name':'a'}]",
         "@.ports[1].name: Duplicate value"},
        {"'ports':[{'containerPort':1,'hostPort':9},{'containerPort':2,'hostPort':9}]",
         "@.ports[1].hostPort: Duplicate value"},
        {"'ports':[{'containerPort':1,'hostPort':9},"
         "{'containerPort':2,'hostPort':9,'protocol':'UDP'},"
         "{'containerPort':3,'hostPort':9,'hostIP':'10.0.0.1'}]",
         ""});
}

static void test_host_ports(void **state)
{
    (void)state;
    check_spec("{'containers':[{'name':'a','image':'i','ports':[{'containerPort':1,'hostPort':9}]},"
               "{'name':'b','image':'i','ports':[{'containerPort':1,'hostPort':9}]}]}",
               "spec.containers[1].ports[0].hostPort: Duplicate value");
    check_spec("{'hostNetwork':true,'containers':[{'name':'a','image':'i','ports':"
               "[{'containerPort':1},{'containerPort':2,'hostPort':2}]}]}",
               "");
    check_spec("{'hostNetwork':true,'containers':[{'name':'a','image':'i','ports':"
               "[{'containerPort':1,'hostPort':2}]}]}",
               "spec.containers[0].ports[0].hostPort: Invalid value");
    /* Init containers run one by one; Kubernetes names the first one. */
    check_spec("{'containers':[{'name':'a','image':'i'}],'initContainers':["
               "{'name':'b','image':'i','ports':[{'containerPort':1,'hostPort':9}]},"
               "{'name':'c','image':'i','ports':[{'containerPort':1,'hostPort':9},"
               "{'containerPort':2,'hostPort':9}]}]}",
               "spec.initContainers[0].ports[1].hostPort: Duplicate value");
}

static void test_env(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'env':[{'name':'-A.b_9','value':'x'},{'name':'A'}]", ""},
        {"'env':[{}]", "@.env[0].name: Required value"},
        {"'env':[{'name':'9'},{'name':'a b~'}]", ""},
        {"'env':[{'name':'a=b'}]", "@.env[0].name: Invalid value"},
        {"'env':[{'name':'..'},{'name':'.'}]", ""},
        {"'env':[{'name':'A','value':1}]", "@.env[0].value: Invalid value"},
        {"'env':[{'name':'A','valueFrom':{}}]", "@.env[0].valueFrom: Invalid value"},
        {"'env':[{'name':'A','value':'x','valueFrom':{'fieldRef':{'fieldPath':'metadata.uid'}}}]",
         "@.env[0].valueFrom: Invalid value"},
        {"'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'metadata.uid'},"
         "'secretKeyRef':{'name':'s','key':'k'}}}]",
         "@.env[0].valueFrom: Invalid value"},
        {"'env':[{'name':'A','valueFrom':{'secretKeyRef':{'name':'s','key':'k'}}},"
         "{'name':'B','valueFrom':{'configMapKeyRef':{'name':'s.t','key':'.k'}}}]",
         ""},
        {"'env':[{'name':'A','valueFrom':{'secretKeyRef':{'key':'..'}}}]",
         "@.env[0].valueFrom.secretKeyRef.name: Invalid value; "
         "@.env[0].valueFrom.secretKeyRef.key: Invalid value"},
        {"'env':[{'name':'A','valueFrom':{'configMapKeyRef':{'name':'S'}}}]",
         "@.env[0].valueFrom.configMapKeyRef.name: Invalid value; "
         "@.env[0].valueFrom.configMapKeyRef.key: Required value"});
}

#define FIELD_REF(path) "'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':" path "}}}]"
#define REF_AT "@.env[0].valueFrom.fieldRef"

static void test_field_ref(void **state)
{
    (void)state;
    CHECK_ALL({FIELD_REF("'status.podIPs'"), ""}, {FIELD_REF("'spec.host'"), ""},
              {FIELD_REF("''"), REF_AT ".fieldPath: Required value"},
              {FIELD_REF("'status.phase'"), REF_AT ".fieldPath: Unsupported value"},
              {FIELD_REF("'metadata.labels'"), REF_AT ".fieldPath: Unsupported value"},
              {FIELD_REF("'spec.nothing'"), REF_AT ".fieldPath: Invalid value"},
              {FIELD_REF("'metadata.uid','apiVersion':'v2'"), REF_AT ".fieldPath: Invalid value"});
}

/* Keys stand in quotes of their own, so the tree is made by hand. */
static void test_field_ref_keys(void **state)
{
    (void)state;
    static const struct {
        const char *path, *faults;
    } cases[] = {
        {"metadata.labels['a/b']", ""},
        {"metadata.annotations['A.b/c']", ""},
        {"metadata.labels['A.b/c']", "spec.containers[0].env[0].valueFrom.fieldRef: Invalid value"},
        {"metadata.labels['']", "spec.containers[0].env[0].valueFrom.fieldRef: Invalid value"},
        {"metadata.uid['a']",
         "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value"},
        {"['a']", "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value"},
        {"metadata.labels[']",
         "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf out = BUF_INIT(65536);
        cJSON *spec = parse("{'containers':[{'name':'c','image':'i','env':[{'name':'A',"
                            "'valueFrom':{'fieldRef':{}}}]}]}");
        cJSON *env = tree_array(spec, "containers")->child;
        env = cJSON_GetObjectItemCaseSensitive(env, "env")->child;
        env = cJSON_GetObjectItemCaseSensitive(env, "valueFrom")->child;
        cJSON_AddStringToObject(env, "fieldPath", cases[i].path);
        check_tree(spec, false, false, &out);
        assert_str(buf_str(&out), cases[i].faults);
        cJSON_Delete(spec);
        buf_clear(&out);
    }
}

#define RESOURCE_REF(more)                                                                         \
    "'env':[{'name':'A','valueFrom':{'resourceFieldRef':{'resource':" more "}}}]"
#define RESOURCE_AT "@.env[0].valueFrom.resourceFieldRef"

static void test_resource_ref(void **state)
{
    (void)state;
    CHECK_ALL(
        {RESOURCE_REF("'limits.cpu'"), ""},
        {RESOURCE_REF("'limits.hugepages-2Mi','divisor':'1Mi'"), ""},
        {RESOURCE_REF("''"), RESOURCE_AT ".resource: Required value"},
        {RESOURCE_REF("'limits.gpu'"), RESOURCE_AT ".resource: Unsupported value"},
        {RESOURCE_REF("'limits.cpu','divisor':'1m'"), ""},
        {RESOURCE_REF("'limits.cpu','divisor':'1000m'"), ""},
        {RESOURCE_REF("'limits.cpu','divisor':'2m'"), RESOURCE_AT ".divisor: Invalid value"},
        {RESOURCE_REF("'limits.cpu','divisor':'0'"), ""},
        {RESOURCE_REF("'requests.memory','divisor':'1024Ki'"), ""},
        {RESOURCE_REF("'requests.memory','divisor':1000"), ""},
        {RESOURCE_REF("'requests.memory','divisor':1024"), RESOURCE_AT ".divisor: Invalid value"},
        {RESOURCE_REF("'limits.ephemeral-storage','divisor':'1m'"),
         RESOURCE_AT ".divisor: Invalid value"},
        {RESOURCE_REF("'limits.hugepages-2Mi','divisor':'2Mi'"),
         RESOURCE_AT ".divisor: Invalid value"},
        {RESOURCE_REF("'limits.cpu','divisor':'x'"), RESOURCE_AT ".divisor: Invalid value"});
}

#define FILE_REF(members) "'env':[{'name':'A','valueFrom':{'fileKeyRef':{" members "}}}]"
#define FILE_AT "@.env[0].valueFrom.fileKeyRef"

static void test_file_ref(void **state)
{
    (void)state;
    CHECK_ALL(
        {FILE_REF("'key':'a b','volumeName':'a','path':'x/y'"), ""},
        {FILE_REF("'key':'a=b','volumeName':'a','path':'x/..'"),
         FILE_AT ".key: Invalid value; " FILE_AT ".path: Invalid value"},
        {FILE_REF("'key':'k','volumeName':'b','path':'x'"), FILE_AT ".volumeName: Invalid value"},
        {FILE_REF("'key':'k','volumeName':'z','path':'x'"), FILE_AT ".volumeName: Not found"},
        {FILE_REF(""),
         FILE_AT ".key: Required value; " FILE_AT ".volumeName: Required value; " FILE_AT
                 ".path: Required value; " FILE_AT ".volumeName: Not found"});
}

static void test_file_ref_to_no_volume(void **state)
{
    (void)state;
    check_spec("{'volumes':[['x'],null,{'name':'a','emptyDir':null}],'containers':[{'name':'c',"
               "'image':'i','env':[{'name':'A','valueFrom':{'fileKeyRef':{'key':'k','path':'p',"
               "'volumeName':''}}},{'name':'B','valueFrom':{'fileKeyRef':{'key':'k','path':'p',"
               "'volumeName':'a'}}}]}]}",
               "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value");
}

static void test_env_from(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'envFrom':[{'prefix':'P_','configMapRef':{'name':'m'}},"
         "{'secretRef':{'name':'s','optional':true}}]",
         ""},
        {"'envFrom':[{}]", "@.envFrom: Invalid value"},
        {"'envFrom':[{'configMapRef':{'name':'m'},'secretRef':{'name':'s'}}]",
         "@.envFrom: Invalid value"},
        {"'envFrom':[{'configMapRef':{}}]", "@.envFrom[0].configMapRef.name: Required value"},
        {"'envFrom':[{'secretRef':{'name':'S'}}]", "@.envFrom[0].secretRef.name: Invalid value"},
        {"'envFrom':[{'secretRef':{'name':'ss-'}}]", ""},
        {"'envFrom':[{'secretRef':{'name':'s--'}}]", ""},
        {"'envFrom':[{'secretRef':{'name':'-'}}]", "@.envFrom[0].secretRef.name: Invalid value"},
        {"'envFrom':[{'prefix':'9 ~','secretRef':{'name':'s'}}]", ""},
        {"'envFrom':[{'prefix':'a=','secretRef':{'name':'s'}}]",
         "@.envFrom[0].prefix: Invalid value"});
}

static void test_mounts(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'volumeMounts':[{'name':'a','mountPath':'/a','subPath':'x'},"
         "{'name':'a','mountPath':'/b','subPathExpr':'$(X)'}]",
         ""},
        {"'volumeMounts':[{}]", "@.volumeMounts[0].name: Required value; "
                                "@.volumeMounts[0].mountPath: Required value; "
                                "@.volumeMounts[0].name: Not found"},
        {"'volumeMounts':[{'name':'z','mountPath':'/a'}]", "@.volumeMounts[0].name: Not found"},
        {"'volumeMounts':[{'name':'a','mountPath':'/a'},{'name':'b','mountPath':'/a'}]",
         "@.volumeMounts[1].mountPath: Invalid value"},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','subPath':'/x'}]",
         "@.volumeMounts.subPath: Invalid value"},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','subPath':'x','subPathExpr':'x/..'}]",
         "@.volumeMounts[0].subPathExpr: Invalid value; "
         "@.volumeMounts.subPathExpr: Invalid value"},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','mountPropagation':'HostToContainer'}]", ""},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','mountPropagation':'Both'}]",
         "@.volumeMounts.mountPropagation: Unsupported value"},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','mountPropagation':'Bidirectional'}]",
         "@.volumeMounts.mountPropagation: Forbidden"},
        {"'securityContext':{'privileged':true},'volumeMounts':[{'name':'a','mountPath':'/a',"
         "'mountPropagation':'Bidirectional'}]",
         ""},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','readOnly':true,"
         "'recursiveReadOnly':'Enabled','mountPropagation':'None'}]",
         ""},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','recursiveReadOnly':'IfPossible',"
         "'mountPropagation':'HostToContainer'}]",
         "@.volumeMounts.recursiveReadOnly: Forbidden; "
         "@.volumeMounts.recursiveReadOnly: Forbidden"},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','recursiveReadOnly':'Disabled'}]", ""},
        {"'volumeMounts':[{'name':'a','mountPath':'/a','recursiveReadOnly':'Yes'}]",
         "@.volumeMounts.recursiveReadOnly: Unsupported value"});
}

static void test_devices(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'volumeDevices':[{'name':'disk','devicePath':'/d'},{'name':'new','devicePath':'/e'}]",
         ""},
        {"'volumeDevices':[{}]", "@.volumeDevices[0].name: Required value; "
                                 "@.volumeDevices[0].devicePath: Required value; "
                                 "@.volumeDevices[0].name: Not found"},
        {"'volumeDevices':[{'name':'b','devicePath':'/d'}]",
         "@.volumeDevices[0].name: Invalid value"},
        {"'volumeDevices':[{'name':'disk','devicePath':'/d/../e'}]",
         "@.volumeDevices[0].devicePath: Invalid value"},
        {"'volumeDevices':[{'name':'disk','devicePath':'/d'},{'name':'disk','devicePath':'/d'}]",
         "@.volumeDevices[1].name: Invalid value; @.volumeDevices[1].devicePath: Invalid value"},
        {"'volumeMounts':[{'name':'disk','mountPath':'/m'}],"
         "'volumeDevices':[{'name':'disk','devicePath':'/d'}]",
         "@.volumeMounts[0].name: Invalid value; @.volumeDevices[0].name: Invalid value"},
        {"'volumeMounts':[{'name':'a','mountPath':'/d'}],"
         "'volumeDevices':[{'name':'disk','devicePath':'/d'}]",
         "@.volumeMounts[0].mountPath: Invalid value; "
         "@.volumeDevices[0].devicePath: Invalid value"});
}

static void test_resize(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'resizePolicy':[{'resourceName':'cpu','restartPolicy':'NotRequired'},"
         "{'resourceName':'memory','restartPolicy':'RestartContainer'}]",
         ""},
        {"'resizePolicy':[{'resourceName':'gpu','restartPolicy':'No'}]",
         "@.resizePolicy: Unsupported value; @.resizePolicy: Unsupported value"},
        {"'resizePolicy':[{}]", "@.resizePolicy: Required value; @.resizePolicy: Required value"},
        {"'resizePolicy':[{'resourceName':'cpu','restartPolicy':'NotRequired'},"
         "{'resourceName':'cpu','restartPolicy':'NotRequired'}]",
         "@.resizePolicy[1]: Duplicate value"});
    check_spec("{'restartPolicy':'Never','containers':[{'name':'c','image':'i','resizePolicy':"
               "[{'resourceName':'cpu','restartPolicy':'RestartContainer'}]}]}",
               "spec.containers[0].resizePolicy: Invalid value");
}

static void test_handlers(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'livenessProbe':{'exec':{'command':['a']}}", ""},
        {"'livenessProbe':{}", "@.livenessProbe: Required value"},
        {"'livenessProbe':{'exec':{}}", "@.livenessProbe.exec.command: Required value"},
        {"'livenessProbe':{'exec':{'command':['a']},'grpc':{'port':1}}",
         "@.livenessProbe.grpc: Forbidden"},
        {"'livenessProbe':{'sleep':{'seconds':1}}", "@.livenessProbe: Required value"},
        {"'readinessProbe':{'httpGet':{'port':'http','scheme':'HTTPS','httpHeaders':"
         "[{'name':'X-A','value':'b'}]}}",
         ""},
        {"'readinessProbe':{'httpGet':{}}", "@.readinessProbe.httpGet.port: Invalid value"},
        {"'readinessProbe':{'httpGet':{'port':65536,'scheme':'http','httpHeaders':[{}]}}",
         "@.readinessProbe.httpGet.port: Invalid value; "
         "@.readinessProbe.httpGet.scheme: Unsupported value; "
         "@.readinessProbe.httpGet.httpHeaders: Invalid value"},
        {"'startupProbe':{'tcpSocket':{'port':65535}}", ""},
        {"'startupProbe':{'tcpSocket':{'port':'HTTP'}}",
         "@.startupProbe.tcpSocket.port: Invalid value"},
        {"'startupProbe':{'grpc':{'port':'http'}}", "@.startupProbe.grpc.port: Invalid value"},
        {"'startupProbe':{'grpc':{}}", "@.startupProbe.grpc.port: Invalid value"});
}

#define PROBE(kind, numbers) "'" kind "':{'exec':{'command':['a']}," numbers "}"

static void test_probe_numbers(void **state)
{
    (void)state;
    CHECK_ALL(
        {PROBE("livenessProbe", "'initialDelaySeconds':0,'timeoutSeconds':0,'periodSeconds':0,"
                                "'successThreshold':0,'failureThreshold':0"),
         ""},
        {PROBE("livenessProbe", "'initialDelaySeconds':-1,'timeoutSeconds':-1,'periodSeconds':-1,"
                                "'failureThreshold':-1"),
         "@.livenessProbe.initialDelaySeconds: Invalid value; "
         "@.livenessProbe.timeoutSeconds: Invalid value; "
         "@.livenessProbe.periodSeconds: Invalid value; "
         "@.livenessProbe.failureThreshold: Invalid value"},
        {PROBE("livenessProbe", "'successThreshold':1"), ""},
        {PROBE("livenessProbe", "'successThreshold':2"),
         "@.livenessProbe.successThreshold: Invalid value"},
        {PROBE("startupProbe", "'successThreshold':2"),
         "@.startupProbe.successThreshold: Invalid value"},
        {PROBE("readinessProbe", "'successThreshold':2"), ""},
        {PROBE("livenessProbe", "'terminationGracePeriodSeconds':1"), ""},
        {PROBE("livenessProbe", "'terminationGracePeriodSeconds':0"),
         "@.livenessProbe.terminationGracePeriodSeconds: Invalid value"},
        {PROBE("readinessProbe", "'terminationGracePeriodSeconds':1"),
         "@.readinessProbe.terminationGracePeriodSeconds: Invalid value"});
}

static void test_lifecycle(void **state)
{
    (void)state;
    CHECK_ALL(
        {"'lifecycle':{}", ""},
        {"'lifecycle':{'postStart':{'exec':{'command':['a']}},'preStop':{'sleep':"
         "{'seconds':30}}}",
         ""},
        {"'lifecycle':{'preStop':{'sleep':{'seconds':31}}}",
         "@.lifecycle.preStop.sleep: Invalid value"},
        {"'lifecycle':{'preStop':{'sleep':{'seconds':0}},'postStart':{'sleep':{}}}", ""},
        {"'lifecycle':{'preStop':{'sleep':{'seconds':-1}}}",
         "@.lifecycle.preStop.sleep: Invalid value"},
        {"'lifecycle':{'postStart':{}}", "@.lifecycle.postStart: Required value"},
        {"'lifecycle':{'postStart':{'grpc':{'port':1}}}", "@.lifecycle.postStart: Required value"},
        {"'lifecycle':{'stopSignal':'SIGTERM'}", "@.lifecycle.stopSignal: Forbidden"});
    check_spec("{'terminationGracePeriodSeconds':60,'containers':[{'name':'c','image':'i',"
               "'lifecycle':{'preStop':{'sleep':{'seconds':60}}}}]}",
               "");
    check_spec("{'os':{'name':'linux'},'containers':[{'name':'c','image':'i','lifecycle':"
               "{'stopSignal':'SIGRTMIN+15'}}]}",
               "");
    check_spec("{'os':{'name':'linux'},'containers':[{'name':'c','image':'i','lifecycle':"
               "{'stopSignal':'SIGRTMIN+16'}}]}",
               "spec.containers[0].lifecycle.stopSignal: Unsupported value");
    check_spec("{'os':{'name':'windows'},'containers':[{'name':'c','image':'i','lifecycle':"
               "{'stopSignal':'SIGTERM'}}]}",
               "");
    check_spec("{'os':{'name':'windows'},'containers':[{'name':'c','image':'i','lifecycle':"
               "{'stopSignal':'SIGINT'}}]}",
               "spec.containers[0].lifecycle.stopSignal: Unsupported value");
}

/* One init container with these members, beside a regular one. */
static void check_init(const char *members, const char *expected)
{
    struct buf spec = BUF_INIT(65536);
    buf_printf(&spec,
               "{'containers':[{'name':'c','image':'i'}],'initContainers':[{'name':'n',"
               "'image':'i',%s}]}",
               members);
    check_spec(buf_cstr(&spec), expected);
    buf_clear(&spec);
}

static void test_init(void **state)
{
    (void)state;
    check_init("'env':[{'name':'='}]", "spec.initContainers[0].env[0].name: Invalid value");
    check_init("'restartPolicy':'Always','livenessProbe':{'exec':{'command':['a']}},"
               "'lifecycle':{'preStop':{'exec':{'command':['a']}}}",
               "");
    check_init("'restartPolicy':'Always','livenessProbe':{}",
               "spec.initContainers[0].livenessProbe: Required value");
    check_init("'restartPolicy':'Never'", "");
    check_init("'restartPolicy':'OnFailure','startupProbe':{}",
               "spec.initContainers[0].startupProbe: Forbidden");
    check_init("'restartPolicy':'No'", "spec.initContainers[0].restartPolicy: Unsupported value");
    check_init("'restartPolicy':''", "spec.initContainers[0].restartPolicy: Unsupported value");
    check_init("'lifecycle':{},'livenessProbe':{},'readinessProbe':{},'startupProbe':{}",
               "spec.initContainers[0].lifecycle: Forbidden; "
               "spec.initContainers[0].livenessProbe: Forbidden; "
               "spec.initContainers[0].readinessProbe: Forbidden; "
               "spec.initContainers[0].startupProbe: Forbidden");
    check_spec("{'containers':[{'name':'a','image':'i'}],'initContainers':[{'name':'a','image':'i'}"
               ",{'name':'b','image':'i'},{'name':'b','image':'i'}]}",
               "spec.initContainers[2].name: Duplicate value; "
               "spec.initContainers[0].name: Duplicate value");
}

static void test_init_resize(void **state)
{
    (void)state;
    check_init("'resizePolicy':[{'resourceName':'cpu','restartPolicy':'NotRequired'}]", "");
    check_init("'restartPolicy':'OnFailure','resizePolicy':[{'resourceName':'cpu',"
               "'restartPolicy':'NotRequired'},{'resourceName':'memory',"
               "'restartPolicy':'RestartContainer'}]",
               "spec.initContainers[0].resizePolicy[1].restartPolicy: Invalid value");
    check_init("'restartPolicy':'Always','resizePolicy':[{'resourceName':'cpu',"
               "'restartPolicy':'RestartContainer'}]",
               "");
    check_init("'restartPolicy':'Always','resizePolicy':[{'resourceName':'gpu',"
               "'restartPolicy':'RestartContainer'}]",
               "spec.initContainers[0].resizePolicy: Unsupported value");
}

#define RULES(list) "'restartPolicy':'Always','restartPolicyRules':[" list "]"

static void test_restart_rules_of_regular(void **state)
{
    (void)state;
    CHECK_ALL({RULES("{'action':'Restart','exitCodes':{'operator':'In','values':[1]}},{'action':"
                     "'RestartAllContainers','exitCodes':{'operator':'NotIn'}}"),
               ""},
              {RULES("{'action':'Restart'}"), "@.restartPolicyRules[0].exitCodes: Required value"},
              {"'restartPolicyRules':[{}]",
               "@.restartPolicy: Required value; @.restartPolicyRules[0].action: Unsupported "
               "value; @.restartPolicyRules[0].exitCodes: Required value"},
              {"'restartPolicy':'','restartPolicyRules':[{'action':'Stop','exitCodes':{}}]",
               "@.restartPolicy: Unsupported value; @.restartPolicyRules[0].action: Unsupported "
               "value; @.restartPolicyRules[0].exitCodes.operator: Unsupported value"});
}

static void test_restart_rules(void **state)
{
    (void)state;
    check_init(RULES("{'action':'Restart','exitCodes':{'operator':'In','values':[1]}}"), "");
    check_init("'restartPolicy':'Never','restartPolicyRules':[{'action':'RestartAllContainers',"
               "'exitCodes':{'operator':'NotIn','values':[]}}]",
               "");
    check_init("'restartPolicy':'Never','restartPolicyRules':[{}]",
               "spec.initContainers[0].restartPolicyRules[0].action: Unsupported value; "
               "spec.initContainers[0].restartPolicyRules[0].exitCodes: Required value");
    check_init(RULES("{'action':'Stop'}"),
               "spec.initContainers[0].restartPolicyRules[0].action: Unsupported value; "
               "spec.initContainers[0].restartPolicyRules[0].exitCodes: Required value");
    check_init(RULES("{'exitCodes':{}}"),
               "spec.initContainers[0].restartPolicyRules[0].action: Unsupported value; "
               "spec.initContainers[0].restartPolicyRules[0].exitCodes.operator: Unsupported "
               "value");
    check_init("'restartPolicyRules':[{}]", "spec.initContainers[0].restartPolicy: Required value");
}

static void add_items(struct buf *out, const char *item, int count)
{
    for (int i = 0; i < count; i++)
        buf_printf(out, "%s%s", i ? "," : "", item);
}

static void check_rule_counts(int rules, int codes, const char *expected)
{
    struct buf values = BUF_INIT(65536), rule = BUF_INIT(65536), list = BUF_INIT(65536),
               members = BUF_INIT(65536);
    add_items(&values, "1", codes);
    buf_printf(&rule, "{'action':'Restart','exitCodes':{'operator':'In','values':[%s]}}",
               buf_cstr(&values));
    add_items(&list, buf_cstr(&rule), rules);
    buf_printf(&members, RULES("%s"), buf_cstr(&list));
    check_init(buf_cstr(&members), expected);
    buf_clear(&values);
    buf_clear(&rule);
    buf_clear(&list);
    buf_clear(&members);
}

static void test_restart_rule_counts(void **state)
{
    (void)state;
    check_rule_counts(20, 1, "");
    check_rule_counts(21, 1, "spec.initContainers[0].restartPolicyRules: Too many");
    check_rule_counts(1, 255, "");
    check_rule_counts(1, 256,
                      "spec.initContainers[0].restartPolicyRules[0].exitCodes.values: Too many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_names_at_limit),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_host_ports),
        cmocka_unit_test(test_env),
        cmocka_unit_test(test_field_ref),
        cmocka_unit_test(test_field_ref_keys),
        cmocka_unit_test(test_resource_ref),
        cmocka_unit_test(test_file_ref),
        cmocka_unit_test(test_file_ref_to_no_volume),
        cmocka_unit_test(test_env_from),
        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_handlers),
        cmocka_unit_test(test_probe_numbers),
        cmocka_unit_test(test_lifecycle),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_init_resize),
        cmocka_unit_test(test_restart_rules_of_regular),
        cmocka_unit_test(test_restart_rules),
        cmocka_unit_test(test_restart_rule_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
