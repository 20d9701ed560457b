package main

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

type faults struct {
	Faults []string `json:"faults"`
}

// judge adds what is wrong with objects, once they have their defaults and are in the API server's own
// form.
func judge[In runtime.Object, Out any](found *faults, objects []In, rules func(*Out) field.ErrorList) {
	for _, object := range objects {
		given := object.DeepCopyObject()
		legacyscheme.Scheme.Default(given)
		inner := new(Out)
		if err := legacyscheme.Scheme.Convert(given, inner, nil); err != nil {
			found.Faults = append(found.Faults, fmt.Sprintf("%T: %v", object, err))
			continue
		}
		for _, err := range rules(inner) {
			found.Faults = append(found.Faults, fmt.Sprintf("%T: %v", object, err))
		}
	}
}

func judgePod(pod *core.Pod) field.ErrorList {
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
	return validation.ValidatePodCreate(pod, options)
}

func judgeVolume(volume *core.PersistentVolume) field.ErrorList {
	return validation.ValidatePersistentVolume(volume,
		validation.ValidationOptionsForPersistentVolume(volume, nil))
}

func judgeClaim(claim *core.PersistentVolumeClaim) field.ErrorList {
	return validation.ValidatePersistentVolumeClaim(claim,
		validation.ValidationOptionsForPersistentVolumeClaimCreate())
}

// check is what the API server would say against the objects of a case.
func check(asked *question) (any, error) {
	found := &faults{Faults: []string{}}
	judge(found, append(slices.Clone(asked.Pods), asked.Pod), judgePod)
	judge(found, asked.Nodes, validation.ValidateNode)
	judge(found, asked.Namespaces, validation.ValidateNamespace)
	judge(found, asked.Claims, judgeClaim)
	judge(found, asked.Volumes, judgeVolume)
	judge(found, asked.Classes, func(class *storage.StorageClass) field.ErrorList {
		return storagevalidation.ValidateStorageClass(class)
	})
	judge(found, asked.CSINodes, func(node *storage.CSINode) field.ErrorList {
		return storagevalidation.ValidateCSINode(node)
	})
	for _, pod := range asked.Pods {
		if pod.Spec.NodeName == "" {
			found.Faults = append(found.Faults, fmt.Sprintf("%T: %s has no node", pod, pod.Name))
		}
	}
	return found, nil
}
