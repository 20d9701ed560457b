/*
 * The rules of containers in a pod template: for each the value that just fits and the one that
 * does not, told by the field and the kind of the fault.
 */
#include "testing.h"

#include "webhook/pod/pod_case.h"

static const char *buf_cstr(const struct buf *buf)
{
    return buf->p ? buf->p : "";
}

/* JSON with ' for ". */
static cJSON *parse(const char *text)
{
    char *copy = str_dup(str_of(text));
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    cJSON *tree = cJSON_Parse(copy);
    if (!tree)
        print_error("no JSON: %s\n", text);
    assert_non_null(tree);
    free(copy);
    return tree;
}

/* "path: kind" of each line, joined by "; ". */
static void shorten(struct str lines, struct buf *out)
{
    struct str line;
    while (str_split(&lines, '\n', &line)) {
        const ptrdiff_t path = str_find(line, STR(": "));
        assert_true(path > 0);
        const ptrdiff_t kind = str_find(str_from(line, (size_t)path + 2), STR(": "));
        const struct str shown =
            kind < 0 ? line : str_sub(line, 0, (size_t)path + 2 + (size_t)kind);
        buf_printf(out, "%s%.*s", out->n ? "; " : "", STR_ARG(shown));
    }
}

static void check_tree(const cJSON *spec, bool pod_level, bool whole, struct buf *out)
{
    const struct pod_template_options options = {.pod_level_resources = pod_level};
    struct arena arena = ARENA_INIT;
    struct problems problems = PROBLEMS_INIT;
    struct buf lines = BUF_INIT(65536);
    struct pod_case pod = {.options = &options,
                           .spec = spec,
                           .volumes = MAP_INIT,
                           .claims = MAP_INIT,
                           .host_network = tree_bool(spec, "hostNetwork"),
                           .os = tree_str(tree_get(spec, "os"), "name")};
    struct rule_walk walk = {.problems = &problems, .arena = &arena, .context = &pod};
    const struct field at = field_root("spec");
    cJSON *item;
    cJSON_ArrayForEach(item, tree_array(spec, "volumes"))
        map_set(&pod.volumes, str_of(tree_str(item, "name")), item);
    cJSON_ArrayForEach(item, tree_array(spec, "resourceClaims"))
        map_set(&pod.claims, str_of(tree_str(item, "name")), NULL);
    problems.separator = "\n";
    pod_check_containers(&walk, &at);
    problems_write(&problems, &lines);
    if (whole)
        buf_add_str(out, buf_str(&lines));
    else
        shorten(buf_str(&lines), out);
    buf_clear(&lines);
    problems_clear(&problems);
    map_clear(&pod.volumes);
    map_clear(&pod.claims);
    arena_clear(&arena);
}

static void check_text(const char *spec_text, bool pod_level, bool whole, const char *expected)
{
    struct buf out = BUF_INIT(65536);
    cJSON *spec = parse(spec_text);
    check_tree(spec, pod_level, whole, &out);
    if (!str_is(buf_str(&out), expected))
        print_error("%s\n", spec_text);
    assert_str(buf_str(&out), expected);
    cJSON_Delete(spec);
    buf_clear(&out);
}

/* The faults of a spec. */
static void check_spec(const char *spec, const char *expected)
{
    check_text(spec, true, false, expected);
}

/* The faults of one container with these further members, in a pod with some volumes. `expected`
 * has "@" for the place of the container. */
static void check_container(const char *members, const char *expected)
{
    struct buf spec = BUF_INIT(65536), faults = BUF_INIT(65536);
    buf_printf(&spec,
               "{'volumes':[{'name':'a'},{'name':'b','configMap':{'name':'x'}},"
               "{'name':'disk','persistentVolumeClaim':{'claimName':'d'}},"
               "{'name':'new','ephemeral':{}}],'resourceClaims':[{'name':'gpu'},{'name':'nic'}],"
               "'containers':[{'name':'c','image':'i'%s%s}]}",
               *members ? "," : "", members);
    for (const char *c = expected; *c; c++) {
        if (*c == '@')
            buf_add_cstr(&faults, "spec.containers[0]");
        else
            buf_printf(&faults, "%c", *c);
    }
    check_spec(buf_cstr(&spec), buf_cstr(&faults));
    buf_clear(&spec);
    buf_clear(&faults);
}

struct container_case {
    const char *members, *faults;
};

#define CHECK_ALL(...)                                                                             \
    do {                                                                                           \
        const struct container_case cases[] = {__VA_ARGS__};                                       \
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)                                             \
            check_container(cases[i].members, cases[i].faults);                                    \
    } while (0)

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
              {"'restartPolicy':'Always'", "@.restartPolicy: Forbidden"},
              {"'restartPolicy':''", "@.restartPolicy: Forbidden"},
              {"'restartPolicyRules':[{}]", "@.restartPolicy: Required value"},
              {"'restartPolicyRules':[]", ""}, {"'tty':1", "@.tty: Invalid value"});
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
        {"'env':[{'name':'9'}]", "@.env[0].name: Invalid value"},
        {"'env':[{'name':'..'}]", "@.env[0].name: Invalid value"},
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
        {"'envFrom':[{'prefix':'9','secretRef':{'name':'s'}}]",
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

#define LIMITS(list) "'resources':{'limits':{" list "}}"
#define REQUESTS(list) "'resources':{'requests':{" list "}}"
#define BOTH(requests, limits) "'resources':{'requests':{" requests "},'limits':{" limits "}}"

static void test_resources(void **state)
{
    (void)state;
    CHECK_ALL(
        {BOTH("'cpu':'1','memory':'1Gi'", "'cpu':1,'memory':'1024Mi','ephemeral-storage':'1'"), ""},
        {REQUESTS("'cpu':'-1m'"), "@.resources.requests[cpu]: Invalid value"},
        {REQUESTS("'cpu':'x'"), "@.resources.requests[cpu]: Invalid value"},
        {REQUESTS("'gpu':'1'"), "@.resources.requests[gpu]: Invalid value"},
        {LIMITS("'pods':'1'"), "@.resources.limits[pods]: Invalid value"},
        {LIMITS("'example.com/gpu':'1'"), ""},
        {LIMITS("'example.com/gpu':'500m'"), "@.resources.limits[example.com/gpu]: Invalid value"},
        {LIMITS("'requests.example.com/gpu':'1'"),
         "@.resources.limits[requests.example.com/gpu]: Invalid value"},
        {LIMITS("'kubernetes.io/thing':'500m'"), ""},
        {LIMITS("'Example.com/gpu':'1'"), "@.resources.limits[Example.com/gpu]: Invalid value"},
        {BOTH("'cpu':'1001m'", "'cpu':'1'"), "@.resources.requests: Invalid value"},
        {BOTH("'cpu':'1000.1m'", "'cpu':'1.001'"), ""},
        {BOTH("'example.com/gpu':'1'", "'example.com/gpu':'2'"),
         "@.resources.requests: Invalid value"},
        {BOTH("'example.com/gpu':'2'", "'example.com/gpu':'2'"), ""},
        {REQUESTS("'example.com/gpu':'1'"), "@.resources.limits: Required value"},
        {LIMITS("'hugepages-2Mi':'4Mi','cpu':'1'"), ""},
        {LIMITS("'hugepages-2Mi':'3Mi','cpu':'1'"),
         "@.resources.limits[hugepages-2Mi]: Invalid value"},
        {LIMITS("'hugepages-x':'4Mi','cpu':'1'"), "@.resources.limits[hugepages-x]: Invalid value"},
        {LIMITS("'hugepages-2Mi':'4Mi'"), "@.resources: Forbidden"},
        {"'resources':{'limits':[]}", "@.resources.limits: Invalid value"},
        {"'resources':[]", "@.resources: Invalid value"});
}

static void test_claims(void **state)
{
    (void)state;
    CHECK_ALL({"'resources':{'claims':[{'name':'gpu'},{'name':'nic','request':'a'},"
               "{'name':'nic','request':'b'}]}",
               ""},
              {"'resources':{'claims':[{}]}", "@.resources.claims[0]: Required value"},
              {"'resources':{'claims':[{'name':'z'}]}", "@.resources.claims[0]: Not found"},
              {"'resources':{'claims':[{'name':'gpu'},{'name':'gpu'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu'},{'name':'gpu','request':'a'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu','request':'a'},{'name':'gpu'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu','request':'a'},{'name':'gpu','request':'a'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu','request':'A'}]}",
               "@.resources.claims[0].request: Invalid value"});
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
        {"'lifecycle':{'preStop':{'sleep':{'seconds':0}}}",
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
    check_init("'env':[{'name':'9'}]", "spec.initContainers[0].env[0].name: Invalid value");
    check_init("'restartPolicy':'Always','livenessProbe':{'exec':{'command':['a']}},"
               "'lifecycle':{'preStop':{'exec':{'command':['a']}}}",
               "");
    check_init("'restartPolicy':'Always','livenessProbe':{}",
               "spec.initContainers[0].livenessProbe: Required value");
    check_init("'restartPolicy':'Never'", "spec.initContainers[0].restartPolicy: Unsupported "
                                          "value");
    check_init("'restartPolicy':''", "spec.initContainers[0].restartPolicy: Unsupported value");
    check_init("'lifecycle':{},'livenessProbe':{},'readinessProbe':{},'startupProbe':{}",
               "spec.initContainers[0].lifecycle: Forbidden; "
               "spec.initContainers[0].livenessProbe: Forbidden; "
               "spec.initContainers[0].readinessProbe: Forbidden; "
               "spec.initContainers[0].startupProbe: Forbidden");
    check_init("'resizePolicy':[{'resourceName':'cpu','restartPolicy':'NotRequired'}]",
               "spec.initContainers[0].resizePolicy: Invalid value");
    check_init("'resizePolicy':[{'resourceName':'cpu','restartPolicy':'RestartContainer'}]",
               "spec.initContainers[0].resizePolicy: Invalid value; "
               "spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value");
    check_spec("{'containers':[{'name':'a','image':'i'}],'initContainers':[{'name':'a','image':'i'}"
               ",{'name':'b','image':'i'},{'name':'b','image':'i'}]}",
               "spec.initContainers[2].name: Duplicate value; "
               "spec.initContainers[0].name: Duplicate value");
}

#define RULES(list) "'restartPolicy':'Always','restartPolicyRules':[" list "]"

static void test_restart_rules(void **state)
{
    (void)state;
    check_init(RULES("{'action':'Restart','exitCodes':{'operator':'In','values':[1]}}"), "");
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

/* ---- pod-level resources ------------------------------------------------------------------- */

/* A pod with these resources, a container with 1 CPU and one with 3, and these init containers. */
static void check_pod(const char *resources, const char *init, bool gate, const char *expected)
{
    struct buf spec = BUF_INIT(65536);
    buf_printf(&spec,
               "{'resources':%s,'initContainers':[%s],'containers':["
               "{'name':'a','image':'i','resources':{'requests':{'cpu':'1'}}},"
               "{'name':'b','image':'i','resources':{'requests':{'cpu':'3'},"
               "'limits':{'cpu':'3','memory':'1Gi','hugepages-2Mi':'4Mi'}}}]}",
               resources, init);
    check_text(buf_cstr(&spec), gate, true, expected);
    buf_clear(&spec);
}

#define INIT(name, more, cpu)                                                                      \
    "{'name':'" name "','image':'i'," more "'resources':{'requests':{'cpu':'" cpu "'}}}"
#define SIDECAR(name, cpu) INIT(name, "'restartPolicy':'Always',", cpu)

static void test_pod_level(void **state)
{
    (void)state;
    check_pod("{'requests':{'cpu':'4'},'limits':{'cpu':'4'}}", "", true, "");
    check_pod(
        "{'requests':{'cpu':'2'}}", "", true,
        "spec.resources.requests[cpu]: Invalid value: \"2\": must be greater than or equal to "
        "aggregate container requests of 4");
    check_pod("{'requests':{'cpu':'2'}}", "", false, "");
    check_pod("{'requests':{'cpu':'6'},'limits':{'cpu':'4'}}", "", true,
              "spec.resources.requests: Invalid value: \"6\": must be less than or equal to cpu "
              "limit of 4");
    check_pod("{'requests':{'memory':'1Gi'}}", "", true, "");
    check_pod(
        "{'limits':{'cpu':'2','memory':'1023Mi'}}", "", true,
        "spec.resources.containers[1][cpu].limits: Invalid value: \"3\": must be less than or "
        "equal to pod limits of 2\n"
        "spec.resources.containers[1][memory].limits: Invalid value: \"1Gi\": must be less "
        "than or equal to pod limits of 1023Mi");
    check_pod("{'limits':{'cpu':'3','hugepages-2Mi':'4Mi'}}", "", true, "");
    check_pod("{'limits':{'cpu':'3','hugepages-2Mi':'2Mi'}}", "", true,
              "spec.resources.limits[hugepages-2Mi]: Invalid value: \"2Mi\": must be greater than "
              "or equal to aggregate container limits of 4Mi\n"
              "spec.resources.containers[1][hugepages-2Mi].limits: Invalid value: \"4Mi\": must be "
              "less than or equal to pod limits of 2Mi");
}

/* Sidecars count beside the regular containers; an init container beside the sidecars before. */
static void test_pod_level_init(void **state)
{
    (void)state;
    check_pod("{'requests':{'cpu':'4'}}", INIT("n", "", "4"), true, "");
    check_pod(
        "{'requests':{'cpu':'4'}}", INIT("n", "", "4100m"), true,
        "spec.resources.requests[cpu]: Invalid value: \"4\": must be greater than or equal to "
        "aggregate container requests of 4100m");
    check_pod("{'requests':{'cpu':'6'}}", SIDECAR("s", "2"), true, "");
    check_pod(
        "{'requests':{'cpu':'6'}}", SIDECAR("s", "2") "," INIT("n", "", "5"), true,
        "spec.resources.requests[cpu]: Invalid value: \"6\": must be greater than or equal to "
        "aggregate container requests of 7");
    check_pod("{'requests':{'cpu':'6'}}", INIT("n", "", "5") "," SIDECAR("s", "2"), true, "");
}

static void test_pod_level_itself(void **state)
{
    (void)state;
    const char *containers = "'containers':[{'name':'a','image':'i'}]}";
    static const struct container_case cases[] = {
        {"{'resources':{},", ""},
        {"{'resources':{'requests':{'cpu':'-1'}},", "spec.resources.requests[cpu]: Invalid value"},
        {"{'resources':{'limits':{'ephemeral-storage':'1'}},",
         "spec.resources.limits[ephemeral-storage]: Unsupported value"},
        {"{'resources':{'limits':{'example.com/gpu':'1'}},",
         "spec.resources.limits[example.com/gpu]: Unsupported value"},
        {"{'resources':{'limits':{'gpu':'1'}},", "spec.resources.limits[gpu]: Invalid value"},
        {"{'resources':{'limits':{'hugepages-2Mi':'2Mi'}},", "spec.resources: Forbidden"},
        {"{'resources':{'claims':[]},", "spec.resources.claims: Forbidden"},
        {"{'resources':{'claims':[{'name':'z'}]},",
         "spec.resources.claims: Forbidden; spec.resources.claims[0]: Not found"},
        {"{'os':{'name':'windows'},'resources':{'requests':{'cpu':'-1'}},",
         "spec.resources: Forbidden"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf spec = BUF_INIT(65536);
        buf_printf(&spec, "%s%s", cases[i].members, containers);
        check_spec(buf_cstr(&spec), cases[i].faults);
        buf_clear(&spec);
    }
}

static void check_overhead(const char *list_text, const char *expected)
{
    struct arena arena = ARENA_INIT;
    struct problems problems = PROBLEMS_INIT;
    struct buf lines = BUF_INIT(65536), out = BUF_INIT(65536);
    struct rule_walk walk = {.problems = &problems, .arena = &arena};
    const struct field at = field_root("spec.overhead");
    cJSON *list = parse(list_text);
    problems.separator = "\n";
    pod_check_resource_list(&walk, list, &at);
    problems_write(&problems, &lines);
    shorten(buf_str(&lines), &out);
    assert_str(buf_str(&out), expected);
    cJSON_Delete(list);
    problems_clear(&problems);
    arena_clear(&arena);
    buf_clear(&lines);
    buf_clear(&out);
}

static void test_overhead(void **state)
{
    (void)state;
    check_overhead("{'cpu':'1','memory':null}", "");
    check_overhead("{'cpu':'-1'}", "spec.overhead.limits[cpu]: Invalid value");
    check_overhead("{'hugepages-2Mi':'2Mi'}", "spec.overhead: Forbidden");
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
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_handlers),
        cmocka_unit_test(test_probe_numbers),
        cmocka_unit_test(test_lifecycle),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_restart_rules),
        cmocka_unit_test(test_restart_rule_counts),
        cmocka_unit_test(test_pod_level),
        cmocka_unit_test(test_pod_level_init),
        cmocka_unit_test(test_pod_level_itself),
        cmocka_unit_test(test_overhead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
