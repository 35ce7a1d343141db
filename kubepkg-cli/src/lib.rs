//! The kubepkg command line as a library and a thin binary.
