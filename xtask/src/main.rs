//! Developer commands of kubepkg.

fn main() {}
