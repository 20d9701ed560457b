/*
 * The rules of a pod template about security and operating systems. For each rule the value that
 * just fits and the one that does not, told by the field and the kind of the fault.
 */
#include "pod_template_case.h"

static void test_pod_security(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'securityContext':{'runAsUser':0,'runAsGroup':2147483647,'fsGroup':0,'supplementalGroups'"
         ":[0,2147483647],'fsGroupChangePolicy':'Always','supplementalGroupsPolicy':'Strict','"
         "seLinuxChangePolicy':'MountOption'}",
         ""},
        {"'securityContext':{'runAsUser':-1,'runAsGroup':2147483648,'fsGroup':-1,'"
         "supplementalGroups':[1,-1,2147483648],'fsGroupChangePolicy':'','supplementalGroupsPolicy'"
         ":'No','seLinuxChangePolicy':'No'}",
         "@.securityContext.fsGroup: Invalid value; @.securityContext.runAsUser: Invalid value; "
         "@.securityContext.runAsGroup: Invalid value; @.securityContext.supplementalGroups[1]: "
         "Invalid value; @.securityContext.supplementalGroups[2]: Invalid value; "
         "@.securityContext.fsGroupChangePolicy: Unsupported value; "
         "@.securityContext.supplementalGroupsPolicy: Unsupported value; "
         "@.securityContext.seLinuxChangePolicy: Unsupported value"},
        {"'hostPID':true,'shareProcessNamespace':true",
         "@.securityContext.shareProcessNamespace: Invalid value"},
        {"'hostPID':true,'shareProcessNamespace':false", ""},
        {"'securityContext':{'sysctls':[{'name':'net.ipv4.ip_forward','value':'1'},{'name':'kernel/"
         "shm_rmid_forced','value':'1'}]}",
         ""},
        {"'securityContext':{'sysctls':[{},{'name':'A'},{'name':'a.'},{'name':'a..b'},{'name':'a-b_"
         "c/d.e'},{'name':'_a'}]}",
         "@.securityContext.sysctls[0].name: Required value; @.securityContext.sysctls[1].name: "
         "Invalid value; @.securityContext.sysctls[2].name: Invalid value; "
         "@.securityContext.sysctls[3].name: Invalid value; @.securityContext.sysctls[5].name: "
         "Invalid value"},
        {"'securityContext':{'sysctls':[{'name':'a.b'},{'name':'a.b'}]}",
         "@.securityContext.sysctls[1].name: Duplicate value"},
        {"'securityContext':{'sysctls':[{'name':'<253>'}]}", ""},
        {"'securityContext':{'sysctls':[{'name':'<254>'}]}",
         "@.securityContext.sysctls[0].name: Invalid value"},
        {"'securityContext':{'sysctls':[{'name':'net.a'},{'name':'net/ipv4/"
         "b'},{'name':'network.a'},{'name':'kernel.sem'}]},'hostNetwork':true",
         "@.securityContext.sysctls[0].name: Invalid value; @.securityContext.sysctls[1].name: "
         "Invalid value"},
        {"'securityContext':{'sysctls':[{'name':'net.a'},{'name':'fs.mqueue.a'},{'name':'kernel/"
         "shmall'},{'name':'kernel.sem'},{'name':'kernel.shmx'}]},'hostIPC':true",
         "@.securityContext.sysctls[1].name: Invalid value; @.securityContext.sysctls[2].name: "
         "Invalid value; @.securityContext.sysctls[3].name: Invalid value"},
        {"'securityContext':{'seccompProfile':{'type':'RuntimeDefault'}}", ""},
        {"'securityContext':{'seccompProfile':{}}",
         "@.securityContext.seccompProfile.type: Required value"},
        {"'securityContext':{'seccompProfile':{'type':'Other','localhostProfile':'a'}}",
         "@.securityContext.seccompProfile.type: Unsupported value; "
         "@.securityContext.seccompProfile.localhostProfile: Invalid value"},
        {"'securityContext':{'seccompProfile':{'type':'Localhost'}}",
         "@.securityContext.seccompProfile.localhostProfile: Required value"},
        {"'securityContext':{'seccompProfile':{'type':'Localhost','localhostProfile':'a/b'}}", ""},
        {"'securityContext':{'seccompProfile':{'type':'Localhost','localhostProfile':'/a'}}",
         "@.securityContext.seccompProfile.localhostProfile: Invalid value"},
        {"'securityContext':{'seccompProfile':{'type':'Localhost','localhostProfile':'../a'}}",
         "@.securityContext.seccompProfile.localhostProfile: Invalid value"},
        {"'securityContext':{'seccompProfile':{'type':'Unconfined','localhostProfile':''}}",
         "@.securityContext.seccompProfile.localhostProfile: Invalid value"},
        {"'securityContext':{'appArmorProfile':{'type':'Unconfined'}}", ""},
        {"'securityContext':{'appArmorProfile':{}}",
         "@.securityContext.appArmorProfile.type: Required value"},
        {"'securityContext':{'appArmorProfile':{'type':'Other','localhostProfile':'a'}}",
         "@.securityContext.appArmorProfile.type: Unsupported value"},
        {"'securityContext':{'appArmorProfile':{'type':'Localhost'}}",
         "@.securityContext.appArmorProfile.localhostProfile: Required value"},
        {"'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':'a'}}", ""},
        {"'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':' a'}}",
         "@.securityContext.appArmorProfile.localhostProfile: Invalid value"},
        {"'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':''}}",
         "@.securityContext.appArmorProfile.localhostProfile: Required value"},
        {"'securityContext':{'appArmorProfile':{'type':'RuntimeDefault','localhostProfile':'a'}}",
         "@.securityContext.appArmorProfile.localhostProfile: Invalid value"},
        {"'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':'<4095>'}}",
         ""},
        {"'securityContext':{'appArmorProfile':{'type':'Localhost','localhostProfile':'<4096>'}}",
         "@.securityContext.appArmorProfile.localhostProfile: Too long"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_container_security(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'runAsUser':0,'runAsGroup':2147483647,'procMount':'Default','privileged':true", ""},
        {"'runAsUser':-1,'runAsGroup':2147483648",
         "@.runAsUser: Invalid value; @.runAsGroup: Invalid value"},
        {"'procMount':'Unmasked'", "@.procMount: Invalid value"},
        {"'procMount':''", "@.procMount: Unsupported value"},
        {"'allowPrivilegeEscalation':false", ""},
        {"'allowPrivilegeEscalation':false,'privileged':true", "@: Invalid value"},
        {"'allowPrivilegeEscalation':false,'capabilities':{'add':['CAP_SYS_ADMIN','NET_ADMIN']}",
         "@: Invalid value"},
        {"'allowPrivilegeEscalation':true,'capabilities':{'add':['CAP_SYS_ADMIN']}", ""},
        {"'seccompProfile':{'type':'Localhost'}",
         "@.seccompProfile.localhostProfile: Required value"},
        {"'appArmorProfile':{}", "@.appArmorProfile.type: Required value"},
        {"'windowsOptions':{'runAsUserName':''}", "@.windowsOptions.runAsUserName: Invalid value"},
    };
    check_all(SCOPE_CONTEXT, cases, ARRAY_SIZE(cases));
}

static void test_windows_options(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'securityContext':{'windowsOptions':{'gmsaCredentialSpecName':'n','gmsaCredentialSpec':'"
         "s','runAsUserName':'user','hostProcess':false}}",
         ""},
        {"'securityContext':{'windowsOptions':{'gmsaCredentialSpecName':'N','gmsaCredentialSpec':''"
         ",'runAsUserName':''}}",
         "@.securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value; "
         "@.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value; "
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'DOM\\\\user'}}", ""},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a\\\\b\\\\c'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'.a\\\\b'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'\\\\b'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a:b\\\\c'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a.example.com\\\\c'}}", ""},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'abcdefghijklmno\\\\c'}}", ""},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'abcdefghijklmno_\\\\c'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a..b.example.com\\\\c'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'.. .'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a*b'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a@b'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a\\\\'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'a\\tb'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'<104>'}}", ""},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'<105>'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'<63>.<63>.<63>.<63>\\\\u'}}", ""},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'<63>.<63>.<63>.<62>.a\\\\u'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
        {"'securityContext':{'windowsOptions':{'gmsaCredentialSpec':'<65536>'}}", ""},
        {"'securityContext':{'windowsOptions':{'gmsaCredentialSpec':'<65537>'}}",
         "@.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value"},
        {"'securityContext':{'windowsOptions':{'runAsUserName':'<63>.<63>.<63>.<63>.b\\\\\\\\c'}}",
         "@.securityContext.windowsOptions.runAsUserName: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_os(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'os':{'name':'linux'}", ""},
        {"'os':{}", "@.os.name: Required value"},
        {"'os':{'name':'plan9'}", "@.os: Unsupported value"},
        {"'os':{'name':'linux'},'securityContext':{'windowsOptions':{'runAsUserName':'u'}}",
         "@.securityContext.windowsOptions: Forbidden"},
        {"'os':{'name':'windows'}", ""},
        {"'os':{'name':'windows'},'hostPID':false,'hostIPC':false,'shareProcessNamespace':false,'"
         "hostUsers':true",
         "@.hostUsers: Forbidden; @.shareProcessNamespace: Forbidden"},
        {"'os':{'name':'windows'},'hostPID':true,'hostIPC':true",
         "@.hostPID: Forbidden; @.hostIPC: Forbidden"},
        {"'os':{'name':'windows'},'securityContext':{'appArmorProfile':{'type':'Unconfined'},'"
         "seLinuxOptions':{},'seccompProfile':{'type':'Unconfined'},'fsGroup':1,'"
         "fsGroupChangePolicy':'Always','sysctls':[{'name':'a'}],'runAsUser':1,'runAsGroup':1,'"
         "supplementalGroups':[1],'supplementalGroupsPolicy':'Merge','seLinuxChangePolicy':'"
         "Recursive'}",
         "@.securityContext.appArmorProfile: Forbidden; @.securityContext.seLinuxOptions: "
         "Forbidden; @.securityContext.seccompProfile: Forbidden; @.securityContext.fsGroup: "
         "Forbidden; @.securityContext.fsGroupChangePolicy: Forbidden; @.securityContext.sysctls: "
         "Forbidden; @.securityContext.runAsUser: Forbidden; @.securityContext.runAsGroup: "
         "Forbidden; @.securityContext.supplementalGroups: Forbidden; "
         "@.securityContext.supplementalGroupsPolicy: Forbidden; "
         "@.securityContext.seLinuxChangePolicy: Forbidden"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_os_of_containers(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'os':{'name':'linux'},'containers':[{'name':'c','image':'i','securityContext':{'"
         "windowsOptions':{}}}]",
         "@.containers[0].securityContext.windowsOptions: Forbidden"},
        {"'os':{'name':'windows'},'containers':[{'name':'c','image':'i','securityContext':{'"
         "appArmorProfile':{'type':'Unconfined'},'seLinuxOptions':{},'seccompProfile':{'type':'"
         "Unconfined'},'capabilities':{},'readOnlyRootFilesystem':false,'privileged':false,'"
         "allowPrivilegeEscalation':true,'procMount':'Default','runAsUser':1,'runAsGroup':1}}]",
         "@.containers[0].securityContext.appArmorProfile: Forbidden; "
         "@.containers[0].securityContext.seLinuxOptions: Forbidden; "
         "@.containers[0].securityContext.seccompProfile: Forbidden; "
         "@.containers[0].securityContext.capabilities: Forbidden; "
         "@.containers[0].securityContext.readOnlyRootFilesystem: Forbidden; "
         "@.containers[0].securityContext.privileged: Forbidden; "
         "@.containers[0].securityContext.allowPrivilegeEscalation: Forbidden; "
         "@.containers[0].securityContext.procMount: Forbidden; "
         "@.containers[0].securityContext.runAsUser: Forbidden; "
         "@.containers[0].securityContext.runAsGroup: Forbidden"},
        {"'os':{'name':'windows'},'containers':[{'name':'c','image':'i','securityContext':{'"
         "windowsOptions':{'hostProcess':false},'runAsNonRoot':true}}]",
         ""},
    };
    check_all(SCOPE_WHOLE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_host_users(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'hostUsers':false,'containers':[{'name':'c','image':'i'}]", ""},
        {"'hostUsers':false,'hostNetwork':true,'hostPID':true,'hostIPC':true,'containers':[{'name':"
         "'c','image':'i'}]",
         "@.hostNetwork: Forbidden; @.HostPID: Forbidden; @.HostIPC: Forbidden"},
        {"'hostUsers':true,'hostNetwork':true,'hostPID':true,'hostIPC':true,'containers':[{'name':'"
         "c','image':'i'}]",
         ""},
        {"'hostUsers':false,'containers':[{'name':'c','image':'i','securityContext':{'procMount':'"
         "Unmasked'}}]",
         ""},
        {"'hostUsers':false,'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'p'}}],'"
         "containers':[{'name':'c','image':'i','volumeDevices':[{'name':'v','devicePath':'/dev/"
         "x'}]}]",
         "@.containers[0].volumeDevices: Forbidden"},
    };
    check_all(SCOPE_WHOLE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_host_process(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'hostNetwork':true,'securityContext':{'windowsOptions':{'hostProcess':true}},'containers'"
         ":[{'name':'c','image':'i'}]",
         ""},
        {"'securityContext':{'windowsOptions':{'hostProcess':true}},'containers':[{'name':'c','"
         "image':'i'}]",
         "@.hostNetwork: Invalid value"},
        {"'hostNetwork':true,'securityContext':{'windowsOptions':{'hostProcess':true}},'containers'"
         ":[{'name':'c','image':'i','securityContext':{'windowsOptions':{'hostProcess':false}}}]",
         "@.containers[0].securityContext.windowsOptions.hostProcess: Invalid value"},
        {"'hostNetwork':true,'securityContext':{'windowsOptions':{'hostProcess':false}},'"
         "containers':[{'name':'c','image':'i','securityContext':{'windowsOptions':{'hostProcess':"
         "true}}}]",
         "@.containers[0].securityContext.windowsOptions.hostProcess: Invalid value"},
        {"'hostNetwork':true,'containers':[{'name':'c','image':'i','securityContext':{'"
         "windowsOptions':{'hostProcess':true}}},{'name':'d','image':'i'}]",
         "@: Invalid value"},
        {"'hostNetwork':true,'initContainers':[{'name':'d','image':'i'}],'containers':[{'name':'c',"
         "'image':'i','securityContext':{'windowsOptions':{'hostProcess':true}}}]",
         "@: Invalid value"},
        {"'containers':[{'name':'c','image':'i','securityContext':{'windowsOptions':{'hostProcess':"
         "true}}}]",
         "@.hostNetwork: Invalid value"},
        {"'containers':[{'name':'c','image':'i','securityContext':{'windowsOptions':{'hostProcess':"
         "false}}}]",
         ""},
    };
    check_all(SCOPE_WHOLE_SPEC, cases, ARRAY_SIZE(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_security),     cmocka_unit_test(test_container_security),
        cmocka_unit_test(test_windows_options),  cmocka_unit_test(test_os),
        cmocka_unit_test(test_os_of_containers), cmocka_unit_test(test_host_users),
        cmocka_unit_test(test_host_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
