package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// The release whose defaults of feature gates are meant.
const release = "1.36"

// filters are the plugins that may refuse a node.
var filters = []string{
	names.SchedulingGates, names.NodeUnschedulable, names.NodeName, names.TaintToleration,
	names.NodeAffinity, names.NodePorts, names.NodeResourcesFit, names.VolumeRestrictions,
	names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone, names.PodTopologySpread,
	names.InterPodAffinity,
}

// scorers are the scores by the name they have in an answer.
var scorers = map[string]string{
	"TaintToleration":    names.TaintToleration,
	"NodeAffinity":       names.NodeAffinity,
	"InterPodAffinity":   names.InterPodAffinity,
	"PodTopologySpread":  names.PodTopologySpread,
	"ImageLocality":      names.ImageLocality,
	"LeastAllocated":     names.NodeResourcesFit,
	"MostAllocated":      names.NodeResourcesFit,
	"BalancedAllocation": names.NodeResourcesBalancedAllocation,
}

type scheduler struct {
	cluster *cluster
	filters []fwk.Plugin
	scorers map[string]fwk.ScorePlugin
}

// verdict is what the plugins say about one node.
type verdict struct {
	Refused map[string][]string `json:"refused"`
	Scores  map[string]int64    `json:"scores,omitempty"`
}

type placement struct {
	Nodes map[string]*verdict `json:"nodes"`
}

// arguments are the default arguments of the plugins, those of this program where they differ, and
// under the names of scores what only one of two plugins of the same name has.
func arguments() (map[string]runtime.Object, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	args := map[string]runtime.Object{}
	for _, plugin := range defaults.Profiles[0].PluginConfig {
		args[plugin.Name] = plugin.Args
	}
	// No constraints but the pod's own: a cluster of the cases has no Services.
	spread := args[names.PodTopologySpread].(*config.PodTopologySpreadArgs)
	spread.DefaultingType, spread.DefaultConstraints = config.ListDefaulting, nil

	cpuAndMemory := []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
	fit := args[names.NodeResourcesFit].(*config.NodeResourcesFitArgs)
	for _, strategy := range []config.ScoringStrategyType{config.LeastAllocated, config.MostAllocated} {
		one := fit.DeepCopy()
		one.ScoringStrategy = &config.ScoringStrategy{Type: strategy, Resources: cpuAndMemory}
		args[string(strategy)] = one
	}
	balanced := args[names.NodeResourcesBalancedAllocation].(*config.NodeResourcesBalancedAllocationArgs)
	balanced.Resources = append(cpuAndMemory[:2:2],
		config.ResourceSpec{Name: "nvidia.com/gpu", Weight: 1})
	return args, nil
}

func newScheduler(ctx context.Context) (*scheduler, error) {
	version := utilfeature.DefaultMutableFeatureGate.EmulationVersion().String()
	if version != release {
		return nil, fmt.Errorf("feature gates are those of %s, not %s", version, release)
	}
	args, err := arguments()
	if err != nil {
		return nil, err
	}
	s := &scheduler{cluster: newCluster(), scorers: map[string]fwk.ScorePlugin{}}
	registry := plugins.NewInTreeRegistry()
	for _, name := range filters {
		plugin, err := registry[name](ctx, args[name], s.cluster)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.filters = append(s.filters, plugin)
	}
	for score, name := range scorers {
		plugin, err := registry[name](ctx, argsOf(args, score, name), s.cluster)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", score, err)
		}
		s.scorers[score] = plugin.(fwk.ScorePlugin)
	}
	return s, nil
}

// argsOf are the arguments for a score: its own, or those of its plugin.
func argsOf(args map[string]runtime.Object, score, plugin string) runtime.Object {
	if own, ok := args[score]; ok {
		return own
	}
	return args[plugin]
}

// place asks all plugins about a case.
func (s *scheduler) place(ctx context.Context, asked *question) (*placement, error) {
	if err := s.cluster.set(asked); err != nil {
		return nil, err
	}
	nodes, err := s.cluster.lister.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	out := &placement{Nodes: map[string]*verdict{}}
	for _, node := range nodes {
		out.Nodes[node.Node().Name] = &verdict{Refused: map[string][]string{}}
	}
	for _, plugin := range s.filters {
		for name, reasons := range refusals(ctx, plugin, asked.Pod, nodes) {
			out.Nodes[name].Refused[plugin.Name()] = reasons
		}
	}
	return out, s.score(ctx, asked.Pod, nodes, out)
}

// refusals are the reasons of one plugin against nodes.
func refusals(ctx context.Context, plugin fwk.Plugin, pod *v1.Pod,
	nodes []fwk.NodeInfo) map[string][]string {
	if gate, ok := plugin.(fwk.PreEnqueuePlugin); ok {
		if status := gate.PreEnqueue(ctx, pod); !status.IsSuccess() {
			return forAll(nodes, status)
		}
	}
	state := framework.NewCycleState()
	var chosen *fwk.PreFilterResult
	if before, ok := plugin.(fwk.PreFilterPlugin); ok {
		result, status := before.PreFilter(ctx, state, pod, nodes)
		if status.IsSkip() {
			return nil
		}
		if !status.IsSuccess() {
			return forAll(nodes, status)
		}
		chosen = result
	}
	filter, ok := plugin.(fwk.FilterPlugin)
	if !ok {
		return nil
	}
	out := map[string][]string{}
	for _, node := range nodes {
		name := node.Node().Name
		if status := filter.Filter(ctx, state, pod, node); !status.IsSuccess() {
			out[name] = status.Reasons()
		}
		if !chosen.AllNodes() && !chosen.NodeNames.Has(name) {
			out[name] = append(out[name], fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", plugin.Name()))
		}
	}
	return out
}

// forAll is the refusal of every node.
func forAll(nodes []fwk.NodeInfo, status *fwk.Status) map[string][]string {
	out := map[string][]string{}
	for _, node := range nodes {
		out[node.Node().Name] = status.Reasons()
	}
	return out
}

// score adds the scores of the nodes that nobody refuses.
func (s *scheduler) score(ctx context.Context, pod *v1.Pod, nodes []fwk.NodeInfo, out *placement) error {
	var left []fwk.NodeInfo
	for _, node := range nodes {
		if found := out.Nodes[node.Node().Name]; len(found.Refused) == 0 {
			found.Scores = map[string]int64{}
			left = append(left, node)
		}
	}
	if len(left) == 0 {
		return nil
	}
	for score, plugin := range s.scorers {
		list, status := scoresOf(ctx, plugin, pod, left)
		if !status.IsSuccess() {
			return fmt.Errorf("%s: %w", score, status.AsError())
		}
		for _, one := range list {
			if one.Score < fwk.MinScore || one.Score > fwk.MaxScore {
				return fmt.Errorf("%s gives %d to %s", score, one.Score, one.Name)
			}
			out.Nodes[one.Name].Scores[score] = one.Score
		}
	}
	return nil
}

// scoresOf are one plugin's scores; those of a plugin that has nothing to say are 0.
func scoresOf(ctx context.Context, plugin fwk.ScorePlugin, pod *v1.Pod,
	nodes []fwk.NodeInfo) (fwk.NodeScoreList, *fwk.Status) {
	list := make(fwk.NodeScoreList, len(nodes))
	for i, node := range nodes {
		list[i].Name = node.Node().Name
	}
	state := framework.NewCycleState()
	if before, ok := plugin.(fwk.PreScorePlugin); ok {
		status := before.PreScore(ctx, state, pod, nodes)
		if status.IsSkip() {
			return list, nil
		}
		if !status.IsSuccess() {
			return nil, status
		}
	}
	for i, node := range nodes {
		score, status := plugin.Score(ctx, state, pod, node)
		if !status.IsSuccess() {
			return nil, status
		}
		list[i].Score = score
	}
	if extensions := plugin.ScoreExtensions(); extensions != nil {
		return list, extensions.NormalizeScore(ctx, state, pod, list)
	}
	return list, nil
}
