/*
 * The rules of a pod template about where its pods may run: affinity, tolerations, spread, gates.
 * For each rule the value that just fits and the one that does not, told by the field and the kind
 * of the fault.
 */
#include "pod_template_case.h"

static void test_affinity_nodes(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{'key':'a','operator':'In','values':['b']},{'key':'a','operator':'"
         "Exists'},{'key':'a','operator':'Gt','values':['1']}],'matchFields':[{'key':'metadata."
         "name','operator':'In','values':['n']}]}]}}",
         ""},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
         "Required value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{}"
         "]}}",
         ""},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{'key':'a','operator':'In'}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].values: Required value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{'key':'a','operator':'Exists','values':['b']}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].values: Forbidden"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{'key':'a','operator':'Lt','values':['1','2']}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].values: Required value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{'key':'a','operator':'Gt'}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].values: Required value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].key: Invalid value; "
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].operator: Invalid value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{'key':'a b','operator':'in'}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].key: Invalid value; "
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].operator: Invalid value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchExpressions':[{'key':'a','operator':'NotIn','values':['b','b c']}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchExpressions[0].values[1]: Invalid value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchFields':[{'key':'metadata.name','operator':'NotIn','values':['a','b']}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchFields[0].values: Required value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchFields':[{'key':'metadata.name','operator':'Exists'}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchFields[0].operator: Invalid value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchFields':[{'key':'metadata.uid','operator':'In','values':['N']}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchFields[0].key: Invalid value"},
        {"'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'"
         "matchFields':[{'key':'metadata.name','operator':'In','values':['N']}]}]}}",
         "@.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
         "matchFields[0].values[0]: Invalid value"},
        {"'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,'"
         "preference':{}}]}",
         ""},
        {"'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,'"
         "preference':{'matchExpressions':[{'key':'a','operator':'In','values':['b c']}]}}]}",
         ""},
        {"'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':101}]}",
         "@.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value"},
        {"'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':0,'"
         "preference':{'matchExpressions':[{'key':'','operator':'Is'}],'matchFields':[{}]}}]}",
         "@.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value; "
         "@.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
         "matchExpressions[0].key: Invalid value; "
         "@.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
         "matchExpressions[0].operator: Invalid value; "
         "@.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields["
         "0].operator: Invalid value; "
         "@.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields["
         "0].key: Invalid value"},
        {"'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{}]}",
         "@.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value"},
    };
    check_all(SCOPE_AFFINITY, cases, ARRAY_SIZE(cases));
}

static void test_affinity_pods(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'zone','"
         "labelSelector':{'matchLabels':{'a':'b'},'matchExpressions':[{'key':'a','operator':'In','"
         "values':['b']}]},'namespaces':['n'],'namespaceSelector':{}}]}",
         ""},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required "
         "value"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'a b'}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid "
         "value"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "labelSelector':{'matchExpressions':[{'key':'a','operator':'In'},{'key':'a','operator':'"
         "Exists','values':['b']},{'key':'a','operator':'Gt','values':['1']},{'key':'','operator':'"
         "NotIn','values':['b c']}]}}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
         "matchExpressions[0].values: Required value; "
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
         "matchExpressions[1].values: Forbidden; "
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
         "matchExpressions[2].operator: Invalid value; "
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
         "matchExpressions[3].key: Invalid value; "
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
         "matchExpressions[3].values[0]: Invalid value"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "namespaces':['ok','N','-']}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid "
         "value; @.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: "
         "Invalid value"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "namespaceSelector':{'matchLabels':{'a':'b c'}}}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector."
         "matchLabels: Invalid value"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "labelSelector':{},'matchLabelKeys':['a'],'mismatchLabelKeys':['b']}]}",
         ""},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "matchLabelKeys':['a'],'mismatchLabelKeys':['b']}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: "
         "Forbidden; "
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].mismatchLabelKeys: "
         "Forbidden"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "labelSelector':{},'matchLabelKeys':['a b','c'],'mismatchLabelKeys':['c','']}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: "
         "Invalid value; "
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].mismatchLabelKeys[1]: "
         "Invalid value; "
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[1]: "
         "Invalid value"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "labelSelector':{'matchLabels':{'a':'x'}},'matchLabelKeys':['a']}]}",
         ""},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "labelSelector':{'matchLabels':{'a':'x'},'matchExpressions':[{'key':'a','operator':'"
         "Exists'}]},'matchLabelKeys':['b','a']}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][1]: Invalid value"},
        {"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'z','"
         "labelSelector':{'matchExpressions':[{'key':'a','operator':'Exists'},{'key':'a','operator'"
         ":'Exists'}]},'matchLabelKeys':['a']}]}",
         "@.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value"},
        {"'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,'"
         "podAffinityTerm':{'topologyKey':'z'}}]}",
         ""},
        {"'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':101,'"
         "podAffinityTerm':{}}]}",
         "@.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid "
         "value; "
         "@.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm."
         "topologyKey: Required value"},
        {"'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1}]}",
         "@.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm."
         "topologyKey: Required value"},
        {"'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{}]}",
         "@.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid "
         "value; "
         "@.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm."
         "topologyKey: Required value"},
        {"'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':''}]"
         "}",
         "@.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
         "Required value"},
    };
    check_all(SCOPE_AFFINITY, cases, ARRAY_SIZE(cases));
}

static void test_tolerations(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'tolerations':[{'operator':'Exists'}]", ""},
        {"'tolerations':[{'key':'a','value':'b','effect':'NoSchedule'}]", ""},
        {"'tolerations':[{}]", "@.tolerations[0].operator: Invalid value"},
        {"'tolerations':[{'key':'a b','operator':'Exists'}]",
         "@.tolerations[0].key: Invalid value"},
        {"'tolerations':[{'key':'a','operator':'Exists','value':'b'}]",
         "@.tolerations[0].operator: Invalid value"},
        {"'tolerations':[{'key':'a','value':'b c'}]", "@.tolerations[0].operator: Invalid value"},
        {"'tolerations':[{'key':'a','operator':'Lt','value':'1'}]",
         "@.tolerations[0].operator: Unsupported value"},
        {"'tolerations':[{'key':'a','operator':'Gt','value':'1'}]",
         "@.tolerations[0].operator: Unsupported value"},
        {"'tolerations':[{'key':'a','operator':'exists'}]",
         "@.tolerations[0].operator: Unsupported value"},
        {"'tolerations':[{'key':'a','tolerationSeconds':1,'effect':'NoExecute'}]", ""},
        {"'tolerations':[{'key':'a','tolerationSeconds':0}]",
         "@.tolerations[0].effect: Invalid value"},
        {"'tolerations':[{'key':'a','effect':'No'}]", "@.tolerations[0].effect: Unsupported value"},
        {"'tolerations':[{'operator':'Equal','effect':'PreferNoSchedule'}]",
         "@.tolerations[0].operator: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_spread(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule'}]",
         ""},
        {"'topologySpreadConstraints':[{}]",
         "@.topologySpreadConstraints[0].maxSkew: Invalid value; "
         "@.topologySpreadConstraints[0].topologyKey: Required value; "
         "@.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value"},
        {"'topologySpreadConstraints':[{'maxSkew':0,'topologyKey':'','whenUnsatisfiable':'Never'}]",
         "@.topologySpreadConstraints[0].maxSkew: Invalid value; "
         "@.topologySpreadConstraints[0].topologyKey: Required value; "
         "@.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value"},
        {"'topologySpreadConstraints':[{'maxSkew':-1,'topologyKey':'a "
         "b','whenUnsatisfiable':'ScheduleAnyway'}]",
         "@.topologySpreadConstraints[0].maxSkew: Invalid value"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule'},{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'DoNotSchedule'}]",
         "@.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule'},{'maxSkew':2,'topologyKey':'z','whenUnsatisfiable':'ScheduleAnyway'}]",
         ""},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule'},{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'DoNotSchedule'},{'"
         "maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'DoNotSchedule'}]",
         "@.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value; "
         "@.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','minDomains':1}]",
         ""},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','minDomains':0}]",
         "@.topologySpreadConstraints[0].minDomains: Invalid value"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "ScheduleAnyway','minDomains':2}]",
         "@.topologySpreadConstraints[0].minDomains: Invalid value"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','nodeAffinityPolicy':'Honor','nodeTaintsPolicy':'Ignore'}]",
         ""},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','nodeAffinityPolicy':'','nodeTaintsPolicy':'No'}]",
         "@.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value; "
         "@.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','labelSelector':{'matchLabels':{'a':'b'}},'matchLabelKeys':['c']}]",
         ""},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','matchLabelKeys':['c']}]",
         "@.topologySpreadConstraints[0].matchLabelKeys: Forbidden"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','labelSelector':{'matchLabels':{'a':'b'},'matchExpressions':[{'key':'e','"
         "operator':'Exists'}]},'matchLabelKeys':['a','e']}]",
         ""},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','labelSelector':{'matchLabels':{'a':'b'},'matchExpressions':[{'key':'a','"
         "operator':'Exists'}]},'matchLabelKeys':['e','a','a b']}]",
         "@.topologySpreadConstraints[0].matchLabelKeys[2]: Invalid value; "
         "@.topologySpreadConstraints[0][1]: Invalid value"},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','labelSelector':{},'matchLabelKeys':['a'],'mismatchLabelKeys':['a','=']}]",
         ""},
        {"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'"
         "DoNotSchedule','labelSelector':{'matchLabels':{'a':'b c'}}}]",
         "@.topologySpreadConstraints[0].labelSelector.matchLabels: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_gates(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'schedulingGates':[{'name':'example.com/a'},{'name':'b'}]", ""},
        {"'schedulingGates':[{'name':'a'},{'name':'a'}]", "@.schedulingGates[1]: Duplicate value"},
        {"'schedulingGates':[{}]", "@.schedulingGates[0]: Invalid value"},
        {"'schedulingGates':[{'name':'a b'}]", "@.schedulingGates[0]: Invalid value"},
        {"'readinessGates':[{'conditionType':'example.com/ready'}]", ""},
        {"'readinessGates':[{}]", "@.readinessGates[0].conditionType: Invalid value"},
        {"'readinessGates':[{'conditionType':'a b'}]",
         "@.readinessGates[0].conditionType: Invalid value"},
        {"'schedulingGroup':{'podGroupName':'g'}", ""},
        {"'schedulingGroup':{}", "@.schedulingGroup.podGroupName: Invalid value"},
        {"'schedulingGroup':{'podGroupName':''}", "@.schedulingGroup.podGroupName: Invalid value"},
        {"'schedulingGroup':{'podGroupName':'G'}", "@.schedulingGroup.podGroupName: Invalid value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affinity_nodes), cmocka_unit_test(test_affinity_pods),
        cmocka_unit_test(test_tolerations),    cmocka_unit_test(test_spread),
        cmocka_unit_test(test_gates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
