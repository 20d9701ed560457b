/*
 * The rules of the volumes of a pod template. For each rule the value that just fits and the one
 * that does not, told by the field and the kind of the fault.
 */
#include "pod_template_case.h"

static void test_volumes(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'volumes':[{'name':'a'},{'name':'b','emptyDir':{}}]", ""},
        {"'volumes':[{'name':'a'},{'name':'a'}]", "@.volumes[1].name: Duplicate value"},
        {"'volumes':[{}]", "@.volumes[0].name: Required value"},
        {"'volumes':[{'name':'A'}]", "@.volumes[0].name: Invalid value"},
        {"'volumes':[{'name':'<63>'}]", ""},
        {"'volumes':[{'name':'<64>'}]", "@.volumes[0].name: Invalid value"},
        {"'volumes':[null]", "@.volumes[0].name: Required value"},
        {"'volumes':[{'name':'a','emptyDir':{},'hostPath':{'path':'/x'},'gcePersistentDisk':{}}]",
         "@.volumes[0].hostPath: Forbidden; @.volumes[0].gcePersistentDisk: Forbidden"},
        {"'volumes':[{'name':'a','secret':{'secretName':'s'},'cephfs':{}}]",
         "@.volumes[0].cephFS: Forbidden"},
        {"'volumes':[{'name':'a','nfs':{'server':'s','path':'/'},'downwardAPI':{}}]",
         "@.volumes[0].downwarAPI: Forbidden"},
        {"'volumes':[{'name':'a','hostPath':{}},{'name':'a'}]",
         "@.volumes[0].hostPath.path: Required value"},
    };
    check_all(SCOPE_SPEC, cases, ARRAY_SIZE(cases));
}

static void test_directories(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'emptyDir':{'sizeLimit':'1Gi','medium':'Memory'}", ""},
        {"'emptyDir':{'sizeLimit':'-1'}", "@.emptyDir.sizeLimit: Forbidden"},
        {"'emptyDir':{'sizeLimit':0}", ""},
        {"'hostPath':{'path':'/a'}", ""},
        {"'hostPath':{'path':'/a','type':'Socket'}", ""},
        {"'hostPath':{'path':'/a','type':''}", ""},
        {"'hostPath':{'path':'/a','type':'Pipe'}", "@.hostPath.type: Unsupported value"},
        {"'hostPath':{'type':'Pipe'}", "@.hostPath.path: Required value"},
        {"'hostPath':{'path':'/a/../b'}", "@.hostPath.path: Invalid value"},
        {"'hostPath':{'path':'/..a'}", ""},
        {"'gitRepo':{'repository':'r','directory':'a/b'}", ""},
        {"'gitRepo':{'directory':'/a'}",
         "@.gitRepo.repository: Required value; @.gitRepo.directory: Invalid value"},
        {"'gitRepo':{'repository':'r','directory':'a/..'}", "@.gitRepo.directory: Invalid value"},
        {"'image':{'reference':'r','pullPolicy':'Never'}", ""},
        {"'image':{}", ""},
        {"'image':{'reference':'r','pullPolicy':'Sometimes'}",
         "@.image.pullPolicy: Unsupported value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_files(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'secret':{'secretName':'s','defaultMode':511,'items':[{'key':'k','path':'a/"
         "b','mode':0}]}",
         ""},
        {"'secret':{'defaultMode':512}",
         "@.secret.secretName: Required value; @.secret.defaultMode: Invalid value"},
        {"'secret':{'secretName':'s','defaultMode':-1}", "@.secret.defaultMode: Invalid value"},
        {"'secret':{'secretName':'s','items':[{'key':'k','path':'/"
         "a'},{'path':'..a'},{'key':'k','path':'a/../b','mode':512},{'key':'k'}]}",
         "@.secret.items[0].path: Invalid value; @.secret.items[1].key: Required value; "
         "@.secret.items[1].path: Invalid value; @.secret.items[2].path: Invalid value; "
         "@.secret.items[2].mode: Invalid value; @.secret.items[3].path: Required value"},
        {"'configMap':{'name':'c'}", ""},
        {"'configMap':{'items':[{}]}",
         "@.configMap.name: Required value; @.configMap.items[0].key: Required value; "
         "@.configMap.items[0].path: Required value"},
        {"'configMap':{'name':'c','defaultMode':1000}", "@.configMap.defaultMode: Invalid value"},
        {"'downwardAPI':{'defaultMode':512,'items':[{'path':'a','fieldRef':{'fieldPath':'metadata."
         "name'}}]}",
         "@.downwardAPI.defaultMode: Invalid value"},
        {"'downwardAPI':{'items':[{'path':'/"
         "a','mode':512,'fieldRef':{'fieldPath':'spec.nodeName'}}]}",
         "@.downwardAPI.path: Invalid value; @.downwardAPI.mode: Invalid value; "
         "@.downwardAPI.fieldRef.fieldPath: Unsupported value"},
        {"'downwardAPI':{'items':[{'path':'a'}]}", "@.downwardAPI: Required value"},
        {"'downwardAPI':{'items':[{'path':'a','fieldRef':{'fieldPath':'metadata.uid'},'"
         "resourceFieldRef':{'containerName':'c','resource':'limits.cpu'}}]}",
         "@.downwardAPI: Invalid value"},
        {"'downwardAPI':{'items':[{'path':'a','resourceFieldRef':{'containerName':'c','resource':'"
         "limits.cpu','divisor':'1m'}}]}",
         ""},
        {"'downwardAPI':{'items':[{'path':'a','resourceFieldRef':{'resource':'limits.cpu'}}]}",
         "@.downwardAPI.resourceFieldRef.containerName: Required value"},
        {"'downwardAPI':{}", ""},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_projected(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'projected':{'defaultMode':512}", "@.projected.defaultMode: Invalid value"},
        {"'projected':{}", ""},
        {"'projected':{'sources':[{}]}", ""},
        {"'projected':{'sources':[{'secret':{'name':'s','items':[{'key':'k','path':'a'}]}},{'"
         "configMap':{'name':'c','items':[{'key':'k','path':'b'}]}}]}",
         ""},
        {"'projected':{'sources':[{'secret':{'name':'s','items':[{'key':'k','path':'a'}]}},{'"
         "configMap':{'name':'c','items':[{'key':'k','path':'a'}]}}]}",
         "@.projected: Invalid value"},
        {"'projected':{'sources':[{'secret':{},'configMap':{}}]}",
         "@.projected.sources[0].secret.name: Required value; "
         "@.projected.sources[0].configMap.name: Required value; @.projected.sources[0]: "
         "Forbidden"},
        {"'projected':{'sources':[{'downwardAPI':{'items':[{'path':'a','fieldRef':{'fieldPath':'"
         "metadata.name'}},{'path':'a','fieldRef':{'fieldPath':'metadata.name'}}]}}]}",
         "@.projected: Invalid value"},
        {"'projected':{'sources':[{'downwardAPI':{'items':[{'path':'../a'}]}}]}",
         "@.projected.sources[0].downwardAPI.path: Invalid value; "
         "@.projected.sources[0].downwardAPI: Required value"},
        {"'projected':{'sources':[{'serviceAccountToken':{'path':'t'}}]}", ""},
        {"'projected':{'sources':[{'serviceAccountToken':{}}]}",
         "@.projected.path: Required value"},
        {"'projected':{'sources':[{'serviceAccountToken':{'path':'t','expirationSeconds':600}}]}",
         ""},
        {"'projected':{'sources':[{'serviceAccountToken':{'path':'t','expirationSeconds':599}}]}",
         "@.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value"},
        {"'projected':{'sources':[{'serviceAccountToken':{'path':'t','expirationSeconds':"
         "4294967296}}]}",
         ""},
        {"'projected':{'sources':[{'serviceAccountToken':{'path':'/"
         "t','expirationSeconds':4294967297}}]}",
         "@.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value; "
         "@.projected.path: Invalid value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_trust_bundles(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'b','path':'p'}}]}", ""},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'example.com:s:b','path':'p'}}]}",
         ""},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'','path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.name: Required value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'a:B','path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.name: Invalid value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':':b','path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.name: Invalid value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'a/s:b','path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.name: Invalid value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle: Required value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'b','signerName':'a.b/"
         "c','path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle: Invalid value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'b','labelSelector':{},'path':'p'}}"
         "]}",
         "@.projected.sources[0].clusterTrustBundle.labelSelector: Invalid value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'signerName':'example.com/"
         "s','labelSelector':{'matchLabels':{'a b':'c'}},'path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.labelSelector.matchLabels: Invalid value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'signerName':'example.com/"
         "s','path':'p'}}]}",
         ""},
        {"'projected':{'sources':[{'clusterTrustBundle':{'signerName':'','path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.signerName: Required value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'signerName':'com/s','path':'p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.signerName: Invalid value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'b'}}]}",
         "@.projected.sources[0].clusterTrustBundle.path: Required value"},
        {"'projected':{'sources':[{'clusterTrustBundle':{'name':'b','path':'/"
         "p'}},{'clusterTrustBundle':{'name':'b','path':'/p'}}]}",
         "@.projected.sources[0].clusterTrustBundle.path: Invalid value; "
         "@.projected.sources[1].clusterTrustBundle.path: Invalid value; @.projected: Invalid "
         "value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_certificates(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','credentialBundlePath':'p'}}]}",
         ""},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519'}}]}",
         "@.projected.sources[0].podCertificate: Required value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','certificateChainPath':'k'}}]}",
         "@.projected: Invalid value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'/k','certificateChainPath':'../"
         "c','credentialBundlePath':'..b'}}]}",
         "@.projected.sources[0].podCertificate.credentialBundlePath: Invalid value; "
         "@.projected.sources[0].podCertificate.keyPath: Invalid value; "
         "@.projected.sources[0].podCertificate.certificateChainPath: Invalid value"},
        {"'projected':{'sources':[{'podCertificate':{'keyPath':'k'}}]}",
         "@.projected.sources[0].podCertificate.signerName: Required value; "
         "@.projected.sources[0].podCertificate.keyType: Unsupported value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'kubernetes.io/"
         "s','keyType':'RSA1','keyPath':'k'}}]}",
         "@.projected.sources[0].podCertificate.keyType: Unsupported value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','maxExpirationSeconds':3600}}]}",
         ""},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','maxExpirationSeconds':3599}}]}",
         "@.projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','maxExpirationSeconds':7862400}}]}",
         ""},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','maxExpirationSeconds':7862401}}]}",
         "@.projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'a.kubernetes.io/"
         "s','keyType':'ED25519','keyPath':'k','maxExpirationSeconds':86400}}]}",
         ""},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'a.kubernetes.io/"
         "s','keyType':'ED25519','keyPath':'k','maxExpirationSeconds':86401}}]}",
         "@.projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','userAnnotations':{'Example.com/a':'x'}}}]}",
         ""},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','userAnnotations':{'a':'x'}}}]}",
         "@.projected.sources[0].podCertificate.userAnnotations: Invalid value"},
        {"'projected':{'sources':[{'podCertificate':{'signerName':'example.com/"
         "s','keyType':'ED25519','keyPath':'k','userAnnotations':{'':'x'}}}]}",
         "@.projected.sources[0].podCertificate.userAnnotations: Required value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_disks(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'gcePersistentDisk':{'pdName':'d','partition':255}", ""},
        {"'gcePersistentDisk':{'partition':256}",
         "@.persistentDisk.pdName: Required value; @.persistentDisk.partition: Invalid value"},
        {"'awsElasticBlockStore':{'volumeID':'v'}", ""},
        {"'awsElasticBlockStore':{'partition':-1}",
         "@.awsElasticBlockStore.volumeID: Required value; @.awsElasticBlockStore.partition: "
         "Invalid value"},
        {"'nfs':{'server':'s','path':'/p'}", ""},
        {"'nfs':{'path':'p'}", "@.nfs.server: Required value; @.nfs.path: Invalid value"},
        {"'glusterfs':{'endpoints':'e','path':'p'}", ""},
        {"'glusterfs':{}",
         "@.glusterfs.endpoints: Required value; @.glusterfs.path: Required value"},
        {"'flocker':{'datasetName':'d'}", ""},
        {"'flocker':{}", "@.flocker: Required value"},
        {"'flocker':{'datasetName':'d/e','datasetUUID':'u'}",
         "@.flocker: Invalid value; @.flocker.datasetName: Invalid value"},
        {"'persistentVolumeClaim':{'claimName':'Any Name'}", ""},
        {"'persistentVolumeClaim':{}", "@.persistentVolumeClaim.claimName: Required value"},
        {"'rbd':{'monitors':['m'],'image':'i'}", ""},
        {"'rbd':{}", "@.rbd.monitors: Required value; @.rbd.image: Required value"},
        {"'cinder':{'volumeID':'v','secretRef':{'name':'s'}}", ""},
        {"'cinder':{'secretRef':{}}",
         "@.cinder.volumeID: Required value; @.cinder.secretRef.name: Required value"},
        {"'cephfs':{'monitors':['m']}", ""},
        {"'cephfs':{'monitors':[]}", "@.cephfs.monitors: Required value"},
        {"'quobyte':{'registry':'a:1,[::1]:2','volume':'v'}", ""},
        {"'quobyte':{}", "@.quobyte.registry: Required value; @.quobyte.volume: Required value"},
        {"'quobyte':{'registry':'a','volume':'v'}", "@.quobyte.registry: Invalid value"},
        {"'quobyte':{'registry':'a:1,','volume':'v'}", "@.quobyte.registry: Invalid value"},
        {"'quobyte':{'registry':'a:b:1','volume':'v'}", "@.quobyte.registry: Invalid value"},
        {"'quobyte':{'registry':'a:1','volume':'v','tenant':'<64>'}", ""},
        {"'quobyte':{'registry':'a','volume':'v','tenant':'<65>'}",
         "@.quobyte.tenant: Required value"},
        {"'fc':{'targetWWNs':['w'],'lun':0}", ""},
        {"'fc':{'wwids':['w']}", ""},
        {"'fc':{}", "@.fc.targetWWNs: Required value"},
        {"'fc':{'targetWWNs':['w']}", "@.fc.lun: Required value"},
        {"'fc':{'targetWWNs':['w'],'wwids':['w'],'lun':256}",
         "@.fc.targetWWNs: Invalid value; @.fc.lun: Invalid value"},
        {"'flexVolume':{'driver':'d','options':{'my-k8s.io/a':'','a':'b'}}", ""},
        {"'flexVolume':{'options':{'K8s.io/a':'','x.kubernetes.io/b':'','kubernetes.io':''}}",
         "@.flexVolume.driver: Required value; @.flexVolume.options[K8s.io/a]: Invalid value; "
         "@.flexVolume.options[x.kubernetes.io/b]: Invalid value; "
         "@.flexVolume.options[kubernetes.io]: Invalid value"},
        {"'azureFile':{'secretName':'s','shareName':'s'}", ""},
        {"'azureFile':{}",
         "@.azureFile.secretName: Required value; @.azureFile.shareName: Required value"},
        {"'vsphereVolume':{'volumePath':'p'}", ""},
        {"'vsphereVolume':{}", "@.vsphereVolume.volumePath: Required value"},
        {"'photonPersistentDisk':{'pdID':'p'}", ""},
        {"'photonPersistentDisk':{}", "@.photonPersistentDisk.pdID: Required value"},
        {"'portworxVolume':{'volumeID':'v'}", ""},
        {"'portworxVolume':{}", "@.portworxVolume.volumeID: Required value"},
        {"'scaleIO':{'gateway':'g','system':'s','volumeName':'v','secretRef':{'name':'x'}}", ""},
        {"'scaleIO':{'secretRef':{}}", "@.scaleIO.gateway: Required value; @.scaleIO.system: "
                                       "Required value; @.scaleIO.volumeName: Required value"},
        {"'storageos':{'volumeName':'v','volumeNamespace':'n'}", ""},
        {"'storageos':{'volumeNamespace':'N','secretRef':{}}",
         "@.storageos.volumeName: Required value; @.storageos.volumeNamespace: Invalid value; "
         "@.storageos.secretRef.name: Required value"},
        {"'storageos':{'volumeName':'V'}", "@.storageos.volumeName: Invalid value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_azure_disks(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'azureDisk':{'diskName':'d','diskURI':'https://x'}", ""},
        {"'azureDisk':{'diskName':'d','diskURI':'/subscriptions/x'}",
         "@.azureDisk.diskURI: Unsupported value"},
        {"'azureDisk':{'diskName':'d','diskURI':'/subscriptions/"
         "x','kind':'Managed','cachingMode':'None'}",
         ""},
        {"'azureDisk':{'diskName':'d','diskURI':'https://x','kind':'Managed'}",
         "@.azureDisk.diskURI: Unsupported value"},
        {"'azureDisk':{}", "@.azureDisk.diskName: Required value; @.azureDisk.diskURI: Required "
                           "value; @.azureDisk.diskURI: Unsupported value"},
        {"'azureDisk':{'diskName':'d','diskURI':'https://x','kind':'','cachingMode':'Write'}",
         "@.azureDisk.cachingMode: Unsupported value; @.azureDisk.kind: Unsupported value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_csi(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'csi':{'driver':'CSI.example.com','nodePublishSecretRef':{'name':'s'}}", ""},
        {"'csi':{}", "@.csi.driver: Required value"},
        {"'csi':{'driver':'a_b'}", "@.csi.driver: Invalid value"},
        {"'csi':{'driver':'<63>'}", ""},
        {"'csi':{'driver':'<64>'}", "@.csi.driver: Too long"},
        {"'csi':{'driver':'d','nodePublishSecretRef':{}}",
         "@.csi.nodePublishSecretRef.name: Required value"},
        {"'csi':{'driver':'d','nodePublishSecretRef':{'name':'S'}}", "@.csi.name: Invalid value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_iscsi(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','lun':255}", ""},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','lun':256}",
         "@.iscsi.lun: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','lun':-1}",
         "@.iscsi.lun: Invalid value"},
        {"'iscsi':{}", "@.iscsi.targetPortal: Required value; @.iscsi.iqn: Required value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','chapAuthSession':true}",
         "@.iscsi.secretRef: Required value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','chapAuthDiscovery':"
         "true,'secretRef':{}}",
         ""},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','initiatorName':'iqn."
         "2001-04.com.example:disk'}",
         ""},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','initiatorName':''}",
         "@.iscsi.initiatorname: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com.example:disk','initiatorName':'iqn.x'"
         "}",
         "@.iscsi.initiatorname: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'eui.0123456789abcdef'}", ""},
        {"'iscsi':{'targetPortal':'p','iqn':'eui.0123456789abcde'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'naa.<32>'}", ""},
        {"'iscsi':{'targetPortal':'p','iqn':'naa.<33>'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'abc'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-4.com:x'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com:'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.com:a b'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.a_b:c'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'p','iqn':'iqn.2001-04.:c'}", "@.iscsi.iqn: Invalid value"},
        {"'iscsi':{'targetPortal':'<62>','iqn':'iqn.2001-04.com.example:disk','initiatorName':'iqn."
         "2001-04.com.example:disk'}",
         ""},
        {"'iscsi':{'targetPortal':'<63>','iqn':'iqn.2001-04.com.example:disk','initiatorName':'iqn."
         "2001-04.com.example:disk'}",
         "@.name: Invalid value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

static void test_ephemeral(void **state)
{
    (void)state;
    static const struct template_case cases[] = {
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}}}}}",
         ""},
        {"'ephemeral':{}", "@.ephemeral.volumeClaimTemplate: Required value"},
        {"'ephemeral':{'volumeClaimTemplate':{}}",
         "@.ephemeral.volumeClaimTemplate.spec.accessModes: Required value; "
         "@.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':[],'resources':{'requests':{'"
         "storage':'0'}}}}}",
         "@.ephemeral.volumeClaimTemplate.spec.accessModes: Required value; "
         "@.ephemeral.volumeClaimTemplate.spec.resources[storage]: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOncePod','"
         "ReadWriteOnce'],'resources':{'requests':{'storage':'1'}}}}}",
         "@.ephemeral.volumeClaimTemplate.spec.accessModes: Forbidden"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['RWO'],'resources':{'requests'"
         ":{'storage':'-1'}}}}}",
         "@.ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value; "
         "@.ephemeral.volumeClaimTemplate.spec.resources[storage]: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'metadata':{'labels':{'a':'b'},'annotations':{'a':'b'"
         "}},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}}",
         ""},
        {"'ephemeral':{'volumeClaimTemplate':{'metadata':{'labels':{'a b':'b'},'annotations':{'a "
         "b':'b'},'name':'n','namespace':'n','uid':'u','generateName':'g','resourceVersion':'1','"
         "generation':1,'finalizers':['a/"
         "b']},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}"
         "}",
         "@.ephemeral.volumeClaimTemplate.metadata.annotations: Invalid value; "
         "@.ephemeral.volumeClaimTemplate.metadata.labels: Invalid value; "
         "@.ephemeral.volumeClaimTemplate.metadata.name: Forbidden; "
         "@.ephemeral.volumeClaimTemplate.metadata.generateName: Forbidden; "
         "@.ephemeral.volumeClaimTemplate.metadata.namespace: Forbidden; "
         "@.ephemeral.volumeClaimTemplate.metadata.uID: Forbidden; "
         "@.ephemeral.volumeClaimTemplate.metadata.resourceVersion: Forbidden; "
         "@.ephemeral.volumeClaimTemplate.metadata.generation: Forbidden; "
         "@.ephemeral.volumeClaimTemplate.metadata.finalizers: Forbidden"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'storageClassName':'','volumeMode':'Block','"
         "volumeAttributesClassName':''}}}",
         ""},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'storageClassName':'S','volumeMode':'','"
         "volumeAttributesClassName':'V'}}}",
         "@.ephemeral.volumeClaimTemplate.spec.storageClassName: Invalid value; "
         "@.ephemeral.volumeClaimTemplate.spec.volumeMode: Unsupported value; "
         "@.ephemeral.volumeClaimTemplate.spec.volumeAttributesClassName: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'selector':{'matchLabels':{'a':'b c'}}}}}",
         "@.ephemeral.volumeClaimTemplate.spec.selector.matchLabels: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSource':{'kind':'PersistentVolumeClaim','name':'n'}}}"
         "}",
         ""},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSource':{}}}}",
         "@.ephemeral.volumeClaimTemplate.spec.dataSource.name: Required value; "
         "@.ephemeral.volumeClaimTemplate.spec.dataSource.kind: Required value; "
         "@.ephemeral.volumeClaimTemplate.spec.dataSource: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSource':{'apiGroup':'G','kind':'K','name':'n'}}}}",
         "@.ephemeral.volumeClaimTemplate.spec.dataSource.apiGroup: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'n',"
         "'namespace':'m'}}}}",
         ""},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSourceRef':{'namespace':'M'}}}}",
         "@.ephemeral.volumeClaimTemplate.spec.dataSourceRef.name: Required value; "
         "@.ephemeral.volumeClaimTemplate.spec.dataSourceRef.kind: Required value; "
         "@.ephemeral.volumeClaimTemplate.spec.dataSourceRef.namespace: Invalid value; "
         "@.ephemeral.volumeClaimTemplate.spec.dataSourceRef: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSource':{'kind':'PersistentVolumeClaim','name':'n'},'"
         "dataSourceRef':{'kind':'PersistentVolumeClaim','name':'n'}}}}",
         ""},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSource':{'kind':'PersistentVolumeClaim','name':'n'},'"
         "dataSourceRef':{'kind':'PersistentVolumeClaim','name':'o'}}}}",
         "@.ephemeral.volumeClaimTemplate.spec: Invalid value"},
        {"'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
         "'requests':{'storage':'1Gi'}},'dataSource':{'kind':'PersistentVolumeClaim','name':'n'},'"
         "dataSourceRef':{'kind':'PersistentVolumeClaim','name':'n','namespace':'m'}}}}",
         "@.ephemeral.volumeClaimTemplate.spec: Invalid value"},
    };
    check_all(SCOPE_VOLUME, cases, ARRAY_SIZE(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_volumes),       cmocka_unit_test(test_directories),
        cmocka_unit_test(test_files),         cmocka_unit_test(test_projected),
        cmocka_unit_test(test_trust_bundles), cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_disks),         cmocka_unit_test(test_azure_disks),
        cmocka_unit_test(test_csi),           cmocka_unit_test(test_iscsi),
        cmocka_unit_test(test_ephemeral),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
