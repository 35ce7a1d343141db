//! The kubepkg operator as a library and a thin binary.
