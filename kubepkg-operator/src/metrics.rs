//! The operator's metrics, by the names of the design document ("Observability").

use std::sync::Mutex;

use kube::ResourceExt;
use kubepkg_api::{Package, Phase, condition, keys};
use kubepkg_controller::package::{Error, Revision, Telemetry};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The metrics and where they are registered.
pub struct Metrics {
    registry: Registry,
    ready: Family<PackageLabel, Gauge>,
    info: Family<InfoLabels, Gauge>,
    revisions: Family<OutcomeLabels, Counter>,
    errors: Family<ControllerLabel, Counter>,
    leader: Gauge,
    /// The info series of every package, to be dropped when its labels change.
    shown: Mutex<std::collections::BTreeMap<String, InfoLabels>>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PackageLabel {
    package: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InfoLabels {
    package: String,
    version: String,
    revision: i64,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabels {
    package: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabel {
    controller: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let ready = Family::default();
        registry.register(
            "kubepkg_package_ready",
            "1 when the package is ready",
            ready.clone(),
        );
        let info = Family::default();
        registry.register(
            "kubepkg_package_info",
            "The version and revision a package runs",
            info.clone(),
        );
        let revisions = Family::default();
        registry.register(
            "kubepkg_revisions",
            "Revisions by outcome: applied, failed, rolled_back",
            revisions.clone(),
        );
        let errors = Family::default();
        registry.register(
            "kubepkg_reconcile_errors",
            "Passes that ended with an error, by controller",
            errors.clone(),
        );
        let leader = Gauge::default();
        registry.register(
            "kubepkg_leader",
            "1 on the replica that works",
            leader.clone(),
        );
        Self {
            registry,
            ready,
            info,
            revisions,
            errors,
            leader,
            shown: Mutex::default(),
        }
    }
}

impl Metrics {
    /// The metrics as text, in the OpenMetrics format.
    ///
    /// # Errors
    ///
    /// The text could not be written.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }

    /// Says whether this replica is the one that works.
    pub fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    fn show(&self, package: &str, labels: Option<InfoLabels>) {
        let Ok(mut shown) = self.shown.lock() else {
            return;
        };
        if shown.get(package) == labels.as_ref() {
            return;
        }
        if let Some(old) = shown.remove(package) {
            self.info.remove(&old);
        }
        if let Some(new) = labels {
            self.info.get_or_create(&new).set(1);
            shown.insert(package.to_owned(), new);
        }
    }
}

impl Telemetry for Metrics {
    fn revision(&self, package: &str, revision: &Revision) {
        let outcome = match (revision.phase, revision.restored_from) {
            (Phase::Applied, None) => "applied",
            (Phase::Applied, Some(_)) => "rolled_back",
            (Phase::Failed, _) => "failed",
            _ => return,
        };
        self.revisions
            .get_or_create(&OutcomeLabels {
                package: package.to_owned(),
                outcome,
            })
            .inc();
    }

    fn package(&self, package: &Package) {
        let name = package.name_any();
        let Some(status) = &package.status else {
            return;
        };
        let ready = condition::is_true(&status.conditions, keys::READY);
        self.ready
            .get_or_create(&PackageLabel {
                package: name.clone(),
            })
            .set(i64::from(ready));
        let labels = InfoLabels {
            package: name.clone(),
            version: status.version.clone(),
            revision: status.current_revision,
        };
        self.show(&name, (status.current_revision > 0).then_some(labels));
    }

    fn removed(&self, package: &str) {
        self.ready.remove(&PackageLabel {
            package: package.to_owned(),
        });
        self.show(package, None);
    }

    fn reconcile_error(&self, _: &str, _: &Error) {
        self.errors
            .get_or_create(&ControllerLabel {
                controller: "kubepkg-package",
            })
            .inc();
    }
}

#[cfg(test)]
mod tests {
    use kubepkg_api::{ApiGroup, Kind, PackageSpec, PackageStatus};

    use super::*;

    fn package(version: &str, revision: i64) -> Package {
        let mut package = Package::new(&ApiGroup::default(), "web", PackageSpec::default());
        package.status = Some(PackageStatus {
            version: version.to_owned(),
            current_revision: revision,
            ..PackageStatus::default()
        });
        package
    }

    /// The names and labels of the design document, "Observability".
    #[test]
    fn shows_one_info_series_a_package() {
        let metrics = Metrics::default();
        metrics.package(&package("1.0.0", 1));
        metrics.package(&package("1.1.0", 2));
        let text = metrics.text().unwrap();
        let series = |name: &str| -> Vec<String> {
            text.lines()
                .filter(|l| l.starts_with(name))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(
            series("kubepkg_package_info{"),
            [r#"kubepkg_package_info{package="web",version="1.1.0",revision="2"} 1"#]
        );
        assert_eq!(
            series("kubepkg_package_ready{"),
            [r#"kubepkg_package_ready{package="web"} 0"#]
        );
        metrics.removed("web");
        assert!(!metrics.text().unwrap().contains(r#"package="web""#));
    }
}
