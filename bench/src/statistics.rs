//! Medians, and what else the machine was doing.

use std::time::Duration;

use crate::process::Usage;

/// The median of several runs of a program, each quantity by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) memory: u64,
    pub(crate) instructions: Option<u64>,
}

pub(crate) fn program(runs: &[Usage], instructions: Option<u64>) -> Program {
    Program {
        wall: median(runs.iter().map(|run| run.wall)),
        cpu: median(runs.iter().map(|run| run.cpu)),
        memory: median(runs.iter().map(|run| run.memory)),
        instructions,
    }
}

/// The middle one, of an even number the lower of the two; the default when there is none.
pub(crate) fn median<T: Ord + Copy + Default>(items: impl IntoIterator<Item = T>) -> T {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    let middle = items.len().saturating_sub(1) / 2;
    items.get(middle).copied().unwrap_or_default()
}

/// The middle of the ratios.
pub(crate) fn median_ratio(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let mut ratios: Vec<f64> = ratios.into_iter().collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len().saturating_sub(1) / 2;
    ratios.get(middle).copied().unwrap_or_default()
}

/// Processes that wanted to run in the last minute, on average.
pub(crate) fn machine_load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let minute = text.split_whitespace().next().unwrap_or("unknown");
    minute.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_whatever_the_order() {
        assert_eq!(median([5, 1, 9]), 5);
        assert_eq!(median([4, 2, 8, 6]), 4);
        assert_eq!(median::<u64>([]), 0);
        assert!((median_ratio([2.0, 30.0, 4.0]) - 4.0).abs() < f64::EPSILON);
    }
}
