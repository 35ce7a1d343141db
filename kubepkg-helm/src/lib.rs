//! A Helm SDK: charts, rendering, releases, server-side apply and readiness.
