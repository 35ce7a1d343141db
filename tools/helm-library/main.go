// Renders charts with Helm's own library in one long-lived process, and says what that cost.
//
// `cargo xtask bench helm` builds and drives it. Each line of standard input is a request, a JSON object with the path
// of a chart and the number of runs; each line of standard output is the answer. What a run does is what `helm template
// NAME CHART --namespace NAMESPACE --include-crds` does between reading its flags and printing.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"helm.sh/helm/v4/pkg/action"
	ci "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
)

type request struct {
	Chart     string `json:"chart"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Runs      int    `json:"runs"`
}

// Times are nanoseconds, one for each run.
type answer struct {
	Load   []int64 `json:"load"`
	Render []int64 `json:"render"`
	// Processor time of all threads in all runs, garbage collection included.
	CPU int64 `json:"cpu"`
	// Bytes of memory that the process had at most so far.
	Peak int64 `json:"peak"`
	// Bytes of the rendered text.
	Output int    `json:"output"`
	Error  string `json:"error,omitempty"`
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var wanted request
		if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if err := out.Encode(serve(wanted)); err != nil {
			os.Exit(1)
		}
	}
}

func serve(wanted request) answer {
	var given answer
	before := processor()
	for range wanted.Runs {
		begin := time.Now()
		chart, err := loader.Load(wanted.Chart)
		loaded := time.Now()
		if err != nil {
			return answer{Error: err.Error()}
		}
		text, err := render(chart, wanted)
		done := time.Now()
		if err != nil {
			return answer{Error: err.Error()}
		}
		given.Load = append(given.Load, loaded.Sub(begin).Nanoseconds())
		given.Render = append(given.Render, done.Sub(loaded).Nanoseconds())
		given.Output = len(text)
	}
	given.CPU = processor() - before
	given.Peak = peak()
	return given
}

func render(chart ci.Charter, wanted request) (string, error) {
	accessor, err := ci.NewAccessor(chart)
	if err != nil {
		return "", err
	}
	if declared := accessor.MetaDependencies(); len(declared) > 0 {
		if err := action.CheckDependencies(chart, declared); err != nil {
			return "", err
		}
	}
	client := action.NewInstall(action.NewConfiguration())
	client.DryRunStrategy = action.DryRunClient
	client.ReleaseName = wanted.Name
	client.Namespace = wanted.Namespace
	client.Replace = true
	client.IncludeCRDs = true
	installed, err := client.Run(chart, map[string]any{})
	if err != nil {
		return "", err
	}
	rendered, ok := installed.(*release.Release)
	if !ok {
		return "", fmt.Errorf("a release of type %T", installed)
	}
	var text strings.Builder
	fmt.Fprintln(&text, strings.TrimSpace(rendered.Manifest))
	for _, hook := range rendered.Hooks {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	return text.String(), nil
}

func processor() int64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// The high-water mark of the process, in bytes.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kibibytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kibibytes * 1024
		}
	}
	return 0
}
