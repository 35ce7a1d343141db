//! What repositories offer for the dependencies of a chart, asked for before anything is chosen.
//!
//! Choosing is pure and knows no network ([`kubepkg_helm::resolve`]); what it will ask about is known beforehand. An
//! exact version of a registry is not asked about.

use std::collections::BTreeMap;

use kubepkg_helm::{Dependency, OfferError, OfferedVersion, Offers, Origin};
use kubepkg_source::Charts;

use super::{DependencyError, chart_ref};

/// Answers by repository and chart.
pub(super) struct Gathered {
    indexes: BTreeMap<(String, String), Vec<OfferedVersion>>,
    tags: BTreeMap<String, Vec<String>>,
}

/// Asks the repositories of all dependencies.
pub(super) async fn gather(
    charts: &Charts,
    requested: &[Option<Dependency>],
    names: &BTreeMap<String, String>,
) -> Result<Gathered, DependencyError> {
    let mut gathered = Gathered {
        indexes: BTreeMap::new(),
        tags: BTreeMap::new(),
    };
    for dependency in requested.iter().flatten() {
        let chart = chart_ref(&dependency.repository, &dependency.name);
        match dependency.origin(names) {
            Origin::Index { repository } => {
                let versions = charts.versions(&chart).await?.into_iter();
                let offered = |version| OfferedVersion {
                    version,
                    has_address: true,
                };
                let key = (repository, dependency.name.clone());
                gathered
                    .indexes
                    .insert(key, versions.map(offered).collect());
            }
            Origin::Tags { reference } => {
                gathered
                    .tags
                    .insert(reference, charts.versions(&chart).await?);
            }
            _ => {}
        }
    }
    Ok(gathered)
}

impl Offers for Gathered {
    fn index(
        &self,
        repository: &str,
        chart: &str,
    ) -> Result<Option<Vec<OfferedVersion>>, OfferError> {
        let key = (repository.to_owned(), chart.to_owned());
        Ok(self.indexes.get(&key).cloned())
    }

    fn tags(&self, reference: &str) -> Result<Vec<String>, OfferError> {
        Ok(self.tags.get(reference).cloned().unwrap_or_default())
    }
}
