/*
 * The rules of a pod template as a whole, its metadata, names and network. For each rule the value
 * that just fits and the one that does not, told by the field and the kind of the fault.
 */
#include "pod_template_case.h"

static void test_templates(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"", "@.spec.containers: Required value"},
        {"'spec':{}", "@.spec.containers: Required value"},
        {"'metadata':null,'spec':{'containers':[{'name':'c','image':'i'}]}", ""},
        {"'spec':'x'", "@.spec: Invalid value"},
        {"'metadata':{'labels':{'a':1},'annotations':{'b':true}},'spec':{'containers':[{'name':'c',"
         "'image':'i'}]}",
         "@.labels: Invalid value; @.annotations: Invalid value"},
        {"'metadata':{'labels':'x','annotations':1},'spec':{'containers':[{'name':'c','image':'i'}]"
         "}",
         "@.labels: Invalid value; @.annotations: Invalid value"},
        {"'spec':{'containers':[{'name':'c','image':'i'}],'volumes':{},'affinity':[],'hostAliases':"
         "[1],'hostname':1,'activeDeadlineSeconds':'1'}",
         "@.spec.volumes: Invalid value; @.spec.affinity: Invalid value; "
         "@.spec.activeDeadlineSeconds: Invalid value; @.spec.hostname: Invalid value; "
         "@.spec.hostAliases[0]: Invalid value"},
    };
    check_all(SCOPE_TEMPLATE, cases, ARRAY_SIZE(cases));
}

static void test_labels(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'labels':{'app':'web','example.com/role':''}", ""},
        {"'labels':{'a b':'x'}", "@.labels: Invalid value"},
        {"'labels':{'a':'b c'}", "@.labels: Invalid value"},
        {"'labels':null", ""},
        {"'labels':{'<63>':'<63>'}", ""},
        {"'labels':{'<64>':'x'}", "@.labels: Invalid value"},
        {"'labels':{'a':'<64>'}", "@.labels: Invalid value"},
        {"'annotations':{'Example.COM/a':'any text'}", ""},
        {"'annotations':{'example.com/':'x'}", "@.annotations: Invalid value"},
        {"'annotations':{'a/b/c':''}", "@.annotations: Invalid value"},
        {"'annotations':{'a':'<262143>'}", ""},
        {"'annotations':{'a':'<262144>'}", "@.annotations: Too long"},
    };
    check_all(SCOPE_METADATA, cases, ARRAY_SIZE(cases));
}

static void test_read_annotations(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'annotations':{'kubernetes.io/config.mirror':'x'}",
         "@.annotations[kubernetes.io/config.mirror]: Invalid value"},
        {"'annotations':{'controller.kubernetes.io/pod-deletion-cost':'-10'}", ""},
        {"'annotations':{'controller.kubernetes.io/pod-deletion-cost':'2147483647'}", ""},
        {"'annotations':{'controller.kubernetes.io/pod-deletion-cost':'2147483648'}",
         "@.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value"},
        {"'annotations':{'controller.kubernetes.io/pod-deletion-cost':'0'}", ""},
        {"'annotations':{'controller.kubernetes.io/pod-deletion-cost':'+1'}",
         "@.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value"},
        {"'annotations':{'controller.kubernetes.io/pod-deletion-cost':'01'}",
         "@.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value"},
        {"'annotations':{'controller.kubernetes.io/pod-deletion-cost':''}",
         "@.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value"},
        {"'annotations':{'scheduler.alpha.kubernetes.io/"
         "tolerations':'[{\\\"key\\\":\\\"a\\\",\\\"operator\\\":\\\"Exists\\\"}]'}",
         ""},
        {"'annotations':{'scheduler.alpha.kubernetes.io/"
         "tolerations':'[{\\\"operator\\\":\\\"Equal\\\"}]'}",
         "@.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: Invalid value"},
        {"'annotations':{'scheduler.alpha.kubernetes.io/tolerations':'no list'}",
         "@.annotations: Invalid value"},
        {"'annotations':{'scheduler.alpha.kubernetes.io/tolerations':'null'}", ""},
        {"'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'runtime/default'}", ""},
        {"'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'localhost/a/b'}", ""},
        {"'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'localhost/../b'}",
         "@.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value"},
        {"'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'other'}",
         "@.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value"},
        {"'annotations':{'container.seccomp.security.alpha.kubernetes.io/c':'docker/default'}", ""},
        {"'annotations':{'container.seccomp.security.alpha.kubernetes.io/c':''}",
         "@.annotations.container.seccomp.security.alpha.kubernetes.io/c: Invalid value"},
        {"'annotations':{'container.apparmor.security.beta.kubernetes.io/c':'localhost/p'}", ""},
        {"'annotations':{'container.apparmor.security.beta.kubernetes.io/c':''}", ""},
        {"'annotations':{'container.apparmor.security.beta.kubernetes.io/d':'unconfined'}",
         "@.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value"},
        {"'annotations':{'container.apparmor.security.beta.kubernetes.io/c':'other'}",
         "@.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value"},
    };
    check_all(SCOPE_METADATA, cases, ARRAY_SIZE(cases));
}

static void test_profile_annotations(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'metadata':{'annotations':{'kubernetes.io/"
         "config.mirror':'x'}},'spec':{'containers':[{'name':'c','image':'i'}],'nodeName':'n'}",
         ""},
        {"'metadata':{'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'runtime/"
         "default'}},'spec':{'containers':[{'name':'c','image':'i'}],'securityContext':{'"
         "seccompProfile':{'type':'RuntimeDefault'}}}",
         ""},
        {"'metadata':{'annotations':{'seccomp.security.alpha.kubernetes.io/"
         "pod':'unconfined'}},'spec':{'containers':[{'name':'c','image':'i'}],'securityContext':{'"
         "seccompProfile':{'type':'RuntimeDefault'}}}",
         "@.spec.securityContext.seccompProfile.type: Forbidden"},
        {"'metadata':{'annotations':{'container.seccomp.security.alpha.kubernetes.io/c':'docker/"
         "default'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'"
         "seccompProfile':{'type':'RuntimeDefault'}}}]}",
         ""},
        {"'metadata':{'annotations':{'container.seccomp.security.alpha.kubernetes.io/c':'runtime/"
         "default'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'"
         "seccompProfile':{'type':'Unconfined'}}}]}",
         "@.spec.containers[0].securityContext.seccompProfile.type: Forbidden"},
        {"'metadata':{'annotations':{'container.seccomp.security.alpha.kubernetes.io/c':'localhost/"
         "a'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'seccompProfile':{'"
         "type':'Localhost','localhostProfile':'a'}}}]}",
         ""},
        {"'metadata':{'annotations':{'container.seccomp.security.alpha.kubernetes.io/c':'localhost/"
         "a'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'seccompProfile':{'"
         "type':'Localhost','localhostProfile':'b'}}}]}",
         "@.spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden"},
        {"'metadata':{'annotations':{'container.seccomp.security.alpha.kubernetes.io/c':'runtime/"
         "default'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'"
         "seccompProfile':{'type':'Localhost','localhostProfile':'b'}}}]}",
         "@.spec.containers[0].securityContext.seccompProfile.type: Forbidden"},
        {"'metadata':{'annotations':{'container.apparmor.security.beta.kubernetes.io/c':'runtime/"
         "default'}},'spec':{'containers':[{'name':'c','image':'i'}],'securityContext':{'"
         "appArmorProfile':{'type':'Unconfined'}}}",
         "@.spec.containers[0].securityContext.appArmorProfile.type: Forbidden"},
        {"'metadata':{'annotations':{'container.apparmor.security.beta.kubernetes.io/"
         "c':'unconfined'}},'spec':{'containers':[{'name':'c','image':'i'}],'securityContext':{'"
         "appArmorProfile':{'type':'Unconfined'}}}",
         ""},
        {"'metadata':{'annotations':{'container.apparmor.security.beta.kubernetes.io/c':'localhost/"
         "a'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'appArmorProfile':{"
         "'type':'Localhost','localhostProfile':'b'}}}],'securityContext':{'appArmorProfile':{'"
         "type':'Unconfined'}}}",
         "@.spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden"},
        {"'metadata':{'annotations':{'container.apparmor.security.beta.kubernetes.io/c':'localhost/"
         "b'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'appArmorProfile':{"
         "'type':'Localhost','localhostProfile':'b'}}}]}",
         ""},
        {"'metadata':{'annotations':{'container.apparmor.security.beta.kubernetes.io/c':'docker/"
         "default'}},'spec':{'containers':[{'name':'c','image':'i','securityContext':{'"
         "appArmorProfile':{'type':'RuntimeDefault'}}}]}",
         "@.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value; "
         "@.spec.containers[0].securityContext.appArmorProfile.type: Forbidden"},
    };
    check_all(SCOPE_TEMPLATE, cases, ARRAY_SIZE(cases));
}

static void test_names(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'serviceAccountName':'sa','nodeName':'n','priorityClassName':'p','runtimeClassName':'r'",
         ""},
        {"'serviceAccountName':'SA','nodeName':'N','priorityClassName':'P','runtimeClassName':'R'",
         "@.serviceAccountName: Invalid value; @.nodeName: Invalid value; @.priorityClassName: "
         "Invalid value; @.runtimeClassName: Invalid value"},
        {"'serviceAccountName':'','nodeName':'','priorityClassName':''", ""},
        {"'runtimeClassName':''", "@.runtimeClassName: Invalid value"},
        {"'serviceAccount':'S'", "@.serviceAccountName: Invalid value"},
        {"'serviceAccount':'S','serviceAccountName':'s'", ""},
        {"'nodeName':'<253>'", ""},
        {"'nodeName':'<254>'", "@.nodeName: Invalid value"},
        {"'imagePullSecrets':[{'name':'Any Name'},{}]", ""},
        {"'nodeSelector':{'a':'b'}", ""},
        {"'nodeSelector':{'a':'b c','d e':''}",
         "@.nodeSelector: Invalid value; @.nodeSelector: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_enums(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'restartPolicy':'Never','dnsPolicy':'Default','preemptionPolicy':'Never'", ""},
        {"'restartPolicy':'never','dnsPolicy':'Host','preemptionPolicy':'Always'",
         "@.restartPolicy: Unsupported value; @.dnsPolicy: Unsupported value; @.preemptionPolicy: "
         "Unsupported value"},
        {"'restartPolicy':'','dnsPolicy':''", ""},
        {"'preemptionPolicy':''", "@.preemptionPolicy: Required value"},
        {"'activeDeadlineSeconds':1", ""},
        {"'activeDeadlineSeconds':0", "@.activeDeadlineSeconds: Invalid value"},
        {"'activeDeadlineSeconds':2147483647", ""},
        {"'activeDeadlineSeconds':2147483648", "@.activeDeadlineSeconds: Invalid value"},
        {"'activeDeadlineSeconds':-1", "@.activeDeadlineSeconds: Invalid value"},
        {"'terminationGracePeriodSeconds':-1", ""},
        {"'terminationGracePeriodSeconds':0", ""},
        {"'enableServiceLinks':false,'shareProcessNamespace':true", ""},
        {"'overhead':{'cpu':'1'}", ""},
        {"'overhead':{'cpu':'-1'}", "@.overhead.limits[cpu]: Invalid value"},
        {"'overhead':{'foo':'1'}", "@.overhead.limits[foo]: Invalid value"},
        {"'overhead':{'hugepages-2Mi':'2Mi'}", "@.overhead: Forbidden"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_dns(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'dnsPolicy':'None','dnsConfig':{'nameservers':['1.1.1.1','::1','2001:db8::1'],'searches':"
         "['a.b','a.b.'],'options':[{'name':'ndots','value':'2'}]}",
         ""},
        {"'dnsPolicy':'None'", "@.dnsConfig: Required value"},
        {"'dnsPolicy':'None','dnsConfig':{'searches':['A']}",
         "@.dnsConfig.nameservers: Required value"},
        {"'dnsConfig':{'nameservers':['1.1.1.1','1.1.1.2','1.1.1.3','1.1.1.4']}",
         "@.dnsConfig.nameservers: Invalid value"},
        {"'dnsConfig':{'nameservers':['1.1.1','a','']}",
         "@.dnsConfig.nameservers[0]: Invalid value; @.dnsConfig.nameservers[1]: Invalid value; "
         "@.dnsConfig.nameservers[2]: Invalid value"},
        {"'dnsConfig':{'searches':['.','a_b','_tcp._a.b','a__b.c.','a_-b']}", ""},
        {"'dnsConfig':{'searches':['A','a_','__a','_','','a..']}",
         "@.dnsConfig.searches[0]: Invalid value; @.dnsConfig.searches[1]: Invalid value; "
         "@.dnsConfig.searches[2]: Invalid value; @.dnsConfig.searches[3]: Invalid value; "
         "@.dnsConfig.searches[4]: Invalid value; @.dnsConfig.searches[5]: Invalid value"},
        {"'dnsConfig':{'searches':['..','_-a','a._','<254>']}",
         "@.dnsConfig.searches[0]: Invalid value; @.dnsConfig.searches[1]: Invalid value; "
         "@.dnsConfig.searches[2]: Invalid value; @.dnsConfig.searches[3]: Invalid value"},
        {"'dnsConfig':{'options':[{'value':'x'},{'name':''}]}",
         "@.dnsConfig.options[0]: Required value; @.dnsConfig.options[1]: Required value"},
        {"'dnsConfig':{'searches':['a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a',"
         "'a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a']}",
         ""},
        {"'dnsConfig':{'searches':['a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a',"
         "'a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a']}",
         "@.dnsConfig.searches: Invalid value"},
        {"'dnsConfig':{'searches':['<253>','<253>','<253>','<253>','<253>','<253>','<253>','<253>',"
         "'<16>']}",
         ""},
        {"'dnsConfig':{'searches':['<253>','<253>','<253>','<253>','<253>','<253>','<253>','<253>',"
         "'<17>']}",
         "@.dnsConfig.searches: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'hostAliases':[{'ip':'10.0.0.1','hostnames':['a.b','c']}]", ""},
        {"'hostAliases':[{}]", "@.hostAliases[0].ip: Invalid value"},
        {"'hostAliases':[{'ip':'10.0.0.256','hostnames':['A','b']}]",
         "@.hostAliases[0].ip: Invalid value; @.hostAliases[0].hostnames[0]: Invalid value"},
        {"'hostAliases':[{'ip':'::ffff:1.2.3.4'}]", "@.hostAliases[0].ip: Invalid value"},
        {"'hostAliases':[{'ip':'01.2.3.4'}]", "@.hostAliases[0].ip: Invalid value"},
        {"'hostAliases':[{'ip':'fe80::1%eth0'}]", "@.hostAliases[0].ip: Invalid value"},
        {"'hostname':'h','subdomain':'s'", ""},
        {"'hostname':'H','subdomain':'a.b'",
         "@.hostname: Invalid value; @.subdomain: Invalid value"},
        {"'hostname':'<63>','subdomain':'<64>'", "@.subdomain: Invalid value"},
        {"'hostname':'','subdomain':''", ""},
        {"'hostnameOverride':'a.b'", ""},
        {"'hostnameOverride':''", "@.hostnameOverride: Invalid value"},
        {"'hostnameOverride':'<64>'", ""},
        {"'hostnameOverride':'<65>'", "@.hostnameOverride: Too long"},
        {"'hostnameOverride':'a','setHostnameAsFQDN':true", "@.hostnameOverride: Forbidden"},
        {"'hostnameOverride':'A','hostNetwork':true,'setHostnameAsFQDN':false",
         "@.hostnameOverride: Forbidden; @.hostnameOverride: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_claims(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'resourceClaims':[{'name':'a','resourceClaimName':'c'},{'name':'b','"
         "resourceClaimTemplateName':'t'}]",
         ""},
        {"'resourceClaims':[{'name':'a','resourceClaimName':'c'},{'name':'a','resourceClaimName':'"
         "c'}]",
         "@.resourceClaims[1].name: Duplicate value"},
        {"'resourceClaims':[{}]",
         "@.resourceClaims[0].name: Required value; @.resourceClaims[0]: Invalid value"},
        {"'resourceClaims':[{'name':'A','resourceClaimName':'C','resourceClaimTemplateName':''}]",
         "@.resourceClaims[0].name: Invalid value; @.resourceClaims[0].resourceClaimName: Invalid "
         "value; @.resourceClaims[0].resourceClaimTemplateName: Invalid value; "
         "@.resourceClaims[0]: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

/* Faults that do not fit the text any more are counted all the same. */
static void test_very_many_faults(void **state)
{
    (void)state;
    const struct pod_template_options options = {.pod_level_resources = true};
    struct arena arena = ARENA_INIT;
    struct problems problems = PROBLEMS_INIT;
    struct rule_walk walk = {.problems = &problems, .arena = &arena};
    struct buf members = BUF_INIT((size_t)1 << 20), text = BUF_INIT((size_t)1 << 16);
    const struct field at = field_root("template");
    for (int i = 0; i < 5000; i++)
        buf_printf(&members, "%s'A'", i ? "," : "'hostAliases':[{'ip':'::1','hostnames':[");
    buf_add_cstr(&members, "]}]");
    cJSON *tree = template_of(SCOPE_SPEC, arena_str(&arena, buf_str(&members)).p);
    pod_template_check(&walk, tree, &at, &options);
    assert_int_equal(problems.count, 5000);
    assert_true(problems.dropped > 0 && problems.dropped < 5000);
    assert_true(problems.text.n <= PROBLEMS_TEXT_MAX);
    problems_write(&problems, &text);
    assert_true(str_ends(buf_str(&text), STR(" more")));
    cJSON_Delete(tree);
    buf_clear(&members);
    buf_clear(&text);
    problems_clear(&problems);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_read_annotations),
        cmocka_unit_test(test_profile_annotations),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_enums),
        cmocka_unit_test(test_dns),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_very_many_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
