//! How much a fetch may take: bytes, time, attempts.
//!
//! Everything that comes from the network is hostile. Sizes stop a server that sends without end
//! or announces little and sends much, times stop one that sends a byte a minute. The defaults for
//! sizes are those of the reference (§2.8).

use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// Limits of one fetch. [`Limits::default`] suits charts as they are published.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a chart archive. Default: 64 MiB.
    pub archive_bytes: u64,
    /// Bytes of a Helm `index.yaml`, after decompression. Default: 256 MiB.
    pub index_bytes: u64,
    /// Bytes of an OCI manifest. Default: 4 MiB, the least that registries must take.
    pub manifest_bytes: u64,
    /// Bytes of a token service's answer. Default: 1 MiB.
    pub token_bytes: u64,
    /// Bytes of a provenance file. Default: 5 MiB.
    pub provenance_bytes: u64,
    /// Pages of a list of tags. Default: 1,000.
    pub tag_pages: usize,
    /// Bytes of a blob that are sent in one request; larger ones go in pieces of this size. Default: 16 MiB.
    pub upload_chunk_bytes: u64,
    /// Time to connect, name resolution included. Default: 10 s.
    pub connect_time: Duration,
    /// Time without a single byte arriving. Default: 30 s.
    pub read_time: Duration,
    /// Time for one request from connecting to the last byte. Default: 2 min.
    pub request_time: Duration,
    /// Time for one fetch with all its requests, waits and repetitions. Default: 5 min.
    pub total_time: Duration,
    /// Redirects followed for one request. Default: 10.
    pub redirects: usize,
    /// When to try again.
    pub retry: RetryPolicy,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            archive_bytes: 64 * MIB,
            index_bytes: 256 * MIB,
            manifest_bytes: 4 * MIB,
            token_bytes: MIB,
            provenance_bytes: 5 * MIB,
            tag_pages: 1000,
            upload_chunk_bytes: 16 * MIB,
            connect_time: Duration::from_secs(10),
            read_time: Duration::from_secs(30),
            request_time: Duration::from_mins(2),
            total_time: Duration::from_mins(5),
            redirects: 10,
            retry: RetryPolicy::default(),
        }
    }
}

/// When a fetch that failed for a passing reason is tried again.
///
/// The wait doubles from `first_wait` to `longest_wait`; a random part of up to half of it is taken
/// off, so that many callers don't come back at one moment. A server's `Retry-After` counts when it
/// is longer, and when it leaves time within [`Limits::total_time`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Attempts in all, the first one included. Default: 4.
    pub attempts: u32,
    /// The wait after the first attempt. Default: 500 ms.
    pub first_wait: Duration,
    /// The longest wait between two attempts. Default: 10 s.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(10),
        }
    }
}

impl RetryPolicy {
    /// The wait after an attempt, counted from 1. `random` is between 0 and 1.
    pub(crate) fn wait(&self, attempt: u32, random: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let wait = self
            .first_wait
            .saturating_mul(doubled)
            .min(self.longest_wait);
        wait.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let policy = RetryPolicy {
            attempts: 9,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(3),
        };
        let waits: Vec<u128> = (1..=5)
            .map(|attempt| policy.wait(attempt, 0.0).as_millis())
            .collect();
        assert_eq!(waits, [500, 1000, 2000, 3000, 3000]);
    }

    #[test]
    fn chance_takes_off_half_at_most() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait(1, 1.0), Duration::from_millis(250));
        assert_eq!(policy.wait(1, 0.5), Duration::from_millis(375));
    }

    #[test]
    fn an_absurd_attempt_number_does_not_overflow() {
        assert_eq!(
            RetryPolicy::default().wait(u32::MAX, 0.0),
            Duration::from_secs(10)
        );
    }
}
