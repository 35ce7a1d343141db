//! YAML as Kubernetes and Helm read and write it.
