package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
)

// cluster is the handle that plugins get: the snapshot of the case at hand, and informers that never
// run, whose indexers are filled by hand. What is not here is nil: a plugin that asks for it panics.
type cluster struct {
	fwk.Handle
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	lister    *current
	csi       fwk.CSIManager
}

// current is a lister of the snapshot of the case at hand; plugins keep it.
type current struct {
	snapshot *schedulercache.Snapshot
}

func (c *current) NodeInfos() fwk.NodeInfoLister           { return c.snapshot.NodeInfos() }
func (c *current) StorageInfos() fwk.StorageInfoLister     { return c.snapshot.StorageInfos() }
func (c *current) PodGroupStates() fwk.PodGroupStateLister { return c.snapshot.PodGroupStates() }

// noDevices is the manager of devices of a cluster that has no class of them.
type noDevices struct{ fwk.SharedDRAManager }

func (noDevices) DeviceClassResolver() fwk.DeviceClassResolver { return noDevices{} }

func (noDevices) GetDeviceClass(v1.ResourceName) *resourcev1.DeviceClass { return nil }

// serial does one piece after the other.
type serial struct{}

func (serial) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		do(i)
	}
}

func newCluster() *cluster {
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	return &cluster{
		client:    client,
		informers: factory,
		lister:    &current{schedulercache.NewEmptySnapshot()},
		csi:       nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister()),
	}
}

func (c *cluster) ClientSet() kubernetes.Interface                        { return c.client }
func (c *cluster) SharedInformerFactory() informers.SharedInformerFactory { return c.informers }
func (c *cluster) SnapshotSharedLister() fwk.SharedLister                 { return c.lister }
func (c *cluster) SharedCSIManager() fwk.CSIManager                       { return c.csi }
func (c *cluster) SharedDRAManager() fwk.SharedDRAManager                 { return noDevices{} }
func (c *cluster) Parallelizer() fwk.Parallelizer                         { return serial{} }

// counted are the pods that are in the scheduler's snapshot.
func counted(asked *question) []*v1.Pod {
	nodes := sets.New[string]()
	for _, node := range asked.Nodes {
		nodes.Insert(node.Name)
	}
	var pods []*v1.Pod
	for _, pod := range asked.Pods {
		ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if !ended && nodes.Has(pod.Spec.NodeName) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// fill makes objects all that an informer knows of.
func fill[T any](informer cache.SharedIndexInformer, objects []T) error {
	list := make([]any, len(objects))
	for i := range objects {
		list[i] = objects[i]
	}
	return informer.GetIndexer().Replace(list, "")
}

// set makes the cluster that of a case.
func (c *cluster) set(asked *question) error {
	pods := counted(asked)
	c.lister.snapshot = schedulercache.NewSnapshot(pods, asked.Nodes)
	core, storage := c.informers.Core().V1(), c.informers.Storage().V1()
	return errors.Join(
		fill(core.Nodes().Informer(), asked.Nodes),
		fill(core.Pods().Informer(), pods),
		fill(core.Namespaces().Informer(), asked.Namespaces),
		fill(core.PersistentVolumeClaims().Informer(), asked.Claims),
		fill(core.PersistentVolumes().Informer(), asked.Volumes),
		fill(storage.StorageClasses().Informer(), asked.Classes),
		fill(storage.CSINodes().Informer(), asked.CSINodes))
}
