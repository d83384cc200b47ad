// Allocatorjudge answers what Kubernetes' structured allocator does with claims on a node: the
// differential oracle for claimfit.dra.allocation. It reads one JSON object per line and writes one
// per line.
//
// It uses the public API of k8s.io/dynamic-resource-allocation only, so the same source builds
// against every minor; features that a minor lacks are left out by reflection.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type deviceName [3]string // driver, pool, device

type consumption struct {
	Device   deviceName                                        `json:"device"`
	Capacity map[resourceapi.QualifiedName]resource.Quantity `json:"capacity"`
}

type question struct {
	Node           *v1.Node                     `json:"node"`
	Nodes          []*v1.Node                   `json:"nodes"` // more nodes, one after the other
	Slices         []*resourceapi.ResourceSlice `json:"slices"`
	Classes        []*resourceapi.DeviceClass   `json:"classes"`
	Claims         []*resourceapi.ResourceClaim `json:"claims"`
	Exclusive      []deviceName                 `json:"exclusive"`
	Shared         []deviceName                 `json:"shared"`
	Consumed       []consumption                `json:"consumed"`
	Features       map[string]bool              `json:"features"` // fields of structured.Features
	TimeoutSeconds float64                      `json:"timeoutSeconds"`
}

type answer struct {
	Results   []resourceapi.AllocationResult `json:"results"`
	Error     string                         `json:"error,omitempty"`
	NodeLocal bool                           `json:"nodeLocal,omitempty"`
	Panic     bool                           `json:"panic,omitempty"`
	Steps     int64                          `json:"steps,omitempty"`
	Fitting   int                            `json:"fitting"` // of nodes
	Seconds   float64                        `json:"seconds"`
}

type classLister []*resourceapi.DeviceClass

func (known classLister) List() ([]*resourceapi.DeviceClass, error) { return known, nil }

func (known classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range known {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var asked question
			if problem := json.Unmarshal(line, &asked); problem != nil {
				fmt.Fprintln(os.Stderr, problem)
				os.Exit(2)
			}
			text, problem := json.Marshal(answerTo(asked))
			if problem != nil {
				fmt.Fprintln(os.Stderr, problem)
				os.Exit(2)
			}
			out.Write(text)
			out.WriteByte('\n')
			out.Flush()
		}
		if err != nil {
			return
		}
	}
}

func answerTo(asked question) (said answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			said = answer{Error: fmt.Sprintf("panic: %v", panicked), Panic: true}
		}
	}()
	limit := asked.TimeoutSeconds
	if limit == 0 {
		limit = 5
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(limit*float64(time.Second)))
	defer stop()
	var features structured.Features
	fields := reflect.ValueOf(&features).Elem()
	for name, on := range asked.Features {
		if field := fields.FieldByName(name); field.IsValid() {
			field.SetBool(on)
		}
	}
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, name := range asked.Exclusive {
		state.AllocatedDevices.Insert(structured.MakeDeviceID(name[0], name[1], name[2]))
	}
	for index, name := range asked.Shared {
		share := types.UID(fmt.Sprintf("share-%d", index))
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(
			structured.MakeDeviceID(name[0], name[1], name[2]), &share))
	}
	for _, used := range asked.Consumed {
		id := structured.MakeDeviceID(used.Device[0], used.Device[1], used.Device[2])
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, used.Capacity))
	}
	started := time.Now()
	allocator, err := structured.NewAllocator(ctx, features, state, classLister(asked.Classes),
		asked.Slices, cel.NewCache(100, celFeatures()))
	if err != nil {
		return answer{Error: err.Error()}
	}
	if asked.Node != nil {
		said.Results, err = allocator.Allocate(ctx, asked.Node, asked.Claims)
		if err != nil {
			said.Error = err.Error()
			said.NodeLocal = errors.Is(err, nodeLocal)
		}
	}
	for _, node := range asked.Nodes {
		results, err := allocator.Allocate(ctx, node, asked.Claims)
		if err == nil && results != nil {
			said.Fitting++
		}
	}
	said.Seconds = time.Since(started).Seconds()
	said.Steps = steps(allocator)
	return said
}

// celFeatures turns everything on for expressions, always: changing it rebuilds the compiler.
func celFeatures() cel.Features {
	var chosen cel.Features
	fields := reflect.ValueOf(&chosen).Elem()
	for index := range fields.NumField() {
		fields.Field(index).SetBool(true)
	}
	return chosen
}

// steps returns how often the allocator tried to allocate one device, where it counts.
func steps(allocator any) int64 {
	method := reflect.ValueOf(allocator).MethodByName("GetStats")
	if !method.IsValid() {
		return 0
	}
	stats := method.Call(nil)[0]
	if stats.Kind() == reflect.Pointer {
		if stats.IsNil() {
			return 0
		}
		stats = stats.Elem()
	}
	if field := stats.FieldByName("NumAllocateOneInvocations"); field.IsValid() {
		return field.Int()
	}
	return 0
}
