//! Cargo allows one crate with `links = "rayon-core"` in a program, and demands a build script for
//! it. So a program that also contains another rayon-core does not build.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
