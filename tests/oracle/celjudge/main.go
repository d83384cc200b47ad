// Celjudge answers what Kubernetes' DRA CEL environment says about expressions: the differential
// oracle for claimfit.dra.cel. It reads one JSON object per line and writes one per line.
//
// It uses the public API of k8s.io/dynamic-resource-allocation/cel only, so the same source builds
// against every minor; fields that a minor lacks are set by reflection where they exist.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

type question struct {
	Expression string          `json:"expression"`
	Gates      map[string]bool `json:"gates"`   // fields of dracel.Features
	New        bool            `json:"new"`     // new or changed expression instead of a stored one
	Value      bool            `json:"value"`   // evaluate an expression of any type, without devices
	Timing     bool            `json:"timing"`  // add the seconds that evaluation took
	Devices    []device        `json:"devices"` // devices to evaluate
	Keep       bool            `json:"keep"`    // keep the devices for the next questions
	Kept       bool            `json:"kept"`    // use the kept devices
	Repeat     int             `json:"repeat"`  // evaluate the devices so many times
}

type verdict struct {
	Match bool    `json:"match"`
	Value string  `json:"value,omitempty"`
	Error string  `json:"error,omitempty"`
	Cost  *uint64 `json:"cost,omitempty"`
}

type answer struct {
	CompileError string    `json:"compileError,omitempty"`
	ErrorType    string    `json:"errorType,omitempty"`
	Type         string    `json:"type,omitempty"`
	MaxCost      string    `json:"maxCost,omitempty"`
	Verdicts     []verdict `json:"verdicts,omitempty"`
	Seconds      float64   `json:"seconds,omitempty"`
	Matches      int       `json:"matches"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	var kept []device
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var asked question
			if problem := json.Unmarshal(line, &asked); problem != nil {
				fmt.Fprintln(os.Stderr, problem)
				os.Exit(2)
			}
			if asked.Kept {
				asked.Devices = kept
			}
			if asked.Keep {
				kept = asked.Devices
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

func features(gates map[string]bool) dracel.Features {
	var chosen dracel.Features
	fields := reflect.ValueOf(&chosen).Elem()
	for name, on := range gates {
		if field := fields.FieldByName(name); field.IsValid() {
			field.SetBool(on)
		}
	}
	return chosen
}

func answerTo(asked question) (said answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			said = answer{CompileError: fmt.Sprintf("panic: %v", panicked), ErrorType: "Panic"}
		}
	}()
	compiler := dracel.GetCompiler(features(asked.Gates))
	kind := environment.StoredExpressions
	if asked.New {
		kind = environment.NewExpressions
	}
	options := dracel.Options{EnvType: &kind}
	if asked.Value {
		return valueOf(asked.Expression, compiler.CompileCELExpression("true", options).Environment)
	}
	compiled := compiler.CompileCELExpression(asked.Expression, options)
	if compiled.Error != nil {
		return answer{
			CompileError: compiled.Error.Detail,
			ErrorType:    fmt.Sprint(compiled.Error.Type),
			MaxCost:      strconv.FormatUint(compiled.MaxCost, 10),
		}
	}
	said.Type = compiled.OutputType.String()
	said.MaxCost = strconv.FormatUint(compiled.MaxCost, 10)
	started := time.Now()
	for round := 0; round < max(asked.Repeat, 1); round++ {
		for _, one := range asked.Devices {
			match, details, err := compiled.DeviceMatches(context.Background(), dracel.Device{
				Driver:                   one.Driver,
				AllowMultipleAllocations: one.AllowMultipleAllocations,
				Attributes:               one.Attributes,
				Capacity:                 one.Capacity,
			})
			if match {
				said.Matches++
			}
			if asked.Timing {
				continue
			}
			found := verdict{Match: match}
			if err != nil {
				found.Error = err.Error()
			}
			if details != nil {
				found.Cost = details.ActualCost()
			}
			said.Verdicts = append(said.Verdicts, found)
		}
	}
	if asked.Timing {
		said.Seconds = time.Since(started).Seconds()
	}
	return said
}

// valueOf evaluates an expression of any type that reads no variable.
func valueOf(expression string, env *cel.Env) answer {
	ast, issues := env.Compile(expression)
	if issues != nil {
		return answer{CompileError: "compilation failed: " + issues.String(), ErrorType: "Invalid"}
	}
	program, err := env.Program(ast, cel.CostLimit(resourceapi.CELSelectorExpressionMaxCost),
		cel.InterruptCheckFrequency(100))
	if err != nil {
		return answer{CompileError: "program instantiation failed: " + err.Error(), ErrorType: "Internal"}
	}
	said := answer{Type: ast.OutputType().String()}
	result, details, err := program.Eval(interpreter.EmptyActivation())
	found := verdict{}
	if err != nil {
		found.Error = err.Error()
	} else {
		found.Value = shown(result)
	}
	if details != nil {
		found.Cost = details.ActualCost()
	}
	said.Verdicts = []verdict{found}
	return said
}

// shown writes a value so that type and content can be compared as text.
func shown(value ref.Val) string {
	switch typed := value.(type) {
	case types.Bool, types.Int:
		return fmt.Sprintf("%v", typed.Value())
	case types.Uint:
		return fmt.Sprintf("%du", uint64(typed))
	case types.Double:
		return "double(" + strconv.FormatFloat(float64(typed), 'g', -1, 64) + ")"
	case types.String:
		return strconv.QuoteToASCII(string(typed))
	case types.Bytes:
		return fmt.Sprintf("bytes(%x)", []byte(typed))
	case types.Null:
		return "null"
	case types.Timestamp:
		return "timestamp(" + typed.Time.UTC().Format(time.RFC3339Nano) + ")"
	case types.Duration:
		return fmt.Sprintf("duration(%d)", typed.Duration.Nanoseconds())
	case *types.Optional:
		if !typed.HasValue() {
			return "optional.none"
		}
		return "optional(" + shown(typed.GetValue()) + ")"
	case *types.Err:
		return "error(" + typed.Error() + ")"
	case *types.Type:
		return "type(" + typed.TypeName() + ")"
	}
	if list, ok := value.(traits.Lister); ok {
		items := []string{}
		for it := list.Iterator(); it.HasNext() == types.True; {
			items = append(items, shown(it.Next()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	if mapped, ok := value.(traits.Mapper); ok {
		items := []string{}
		for it := mapped.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			items = append(items, shown(key)+": "+shown(mapped.Get(key)))
		}
		sort.Strings(items)
		return "{" + strings.Join(items, ", ") + "}"
	}
	return fmt.Sprintf("%s(%v)", value.Type().TypeName(), value.Value())
}
