//! Delivery of components: the Backend trait and its implementations.
