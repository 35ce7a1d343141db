// Command bench-release installs one chart many times with Helm's library, in one process that keeps its client,
// as a program that embeds Helm would: "cargo xtask bench release" runs it beside the helm program and kubepkg-helm.
//
// Usage: bench-release CHART NAMESPACE PREFIX COUNT AT_A_TIME
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 5 {
		return fmt.Errorf("usage: bench-release CHART NAMESPACE PREFIX COUNT AT_A_TIME")
	}
	path, namespace, prefix := arguments[0], arguments[1], arguments[2]
	count, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	atATime, err := strconv.Atoi(arguments[4])
	if err != nil {
		return err
	}
	settings := cli.New()
	settings.SetNamespace(namespace)
	// The program's own default would hold 16 installs back.
	settings.QPS, settings.BurstLimit = 1000, 1000
	names := make(chan string)
	failures := make(chan error, count)
	var workers sync.WaitGroup
	for range atATime {
		workers.Add(1)
		go func() {
			defer workers.Done()
			configuration := action.NewConfiguration()
			if err := configuration.Init(settings.RESTClientGetter(), namespace, "secret"); err != nil {
				failures <- err
				for range names {
				}
				return
			}
			for name := range names {
				chart, err := loader.Load(path)
				if err != nil {
					failures <- err
					continue
				}
				install := action.NewInstall(configuration)
				install.ReleaseName, install.Namespace = name, namespace
				install.WaitStrategy = kube.HookOnlyStrategy
				if _, err := install.Run(chart, map[string]any{}); err != nil {
					failures <- fmt.Errorf("%s: %w", name, err)
				}
			}
		}()
	}
	for index := range count {
		names <- fmt.Sprintf("%s-%d", prefix, index)
	}
	close(names)
	workers.Wait()
	close(failures)
	return <-failures
}
