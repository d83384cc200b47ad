// Answers what Kubernetes itself makes of a quantity or of a device selector.
//
// Reads one JSON object per line, {"quantity": "80Gi"} or {"selector": "device.driver == 'x'"}, and
// writes one per line: canonical text and decimal value, or the error; static cost, or the error.
// tests/unit/units_quantity_vectors.json was made with it.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
)

type question struct {
	Quantity *string `json:"quantity,omitempty"`
	Selector *string `json:"selector,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<22), 1<<22)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var ask question
		if err := json.Unmarshal(lines.Bytes(), &ask); err != nil {
			panic(err)
		}
		if err := answers.Encode(answer(ask)); err != nil {
			panic(err)
		}
	}
}

func answer(ask question) map[string]any {
	if ask.Quantity == nil {
		return compile(*ask.Selector)
	}
	quantity, err := resource.ParseQuantity(*ask.Quantity)
	if err != nil {
		return map[string]any{"text": *ask.Quantity, "error": err.Error()}
	}
	number, suffix := quantity.CanonicalizeBytes(make([]byte, 0, 64))
	canonical := string(number) + string(suffix)
	return map[string]any{"text": *ask.Quantity, "canonical": canonical, "dec": quantity.AsDec().String()}
}

func compile(selector string) map[string]any {
	result := cel.GetCompiler(cel.Features{}).CompileCELExpression(selector, cel.Options{})
	if result.Error != nil {
		return map[string]any{"error": result.Error.Error()}
	}
	return map[string]any{"cost": result.MaxCost}
}
