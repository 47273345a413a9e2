//! Embeds the scenario files that lie beside the workspace's crates.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../scenarios").canonicalize()?;
    let mut files = BTreeMap::new();
    collect(&root, &mut files)?;
    let mut code = String::from("&[\n");
    for (name, path) in &files {
        let folder = path.parent().and_then(|p| p.strip_prefix(&root).ok()).unwrap_or(Path::new(""));
        let folder = folder.to_string_lossy().replace('\\', "/");
        writeln!(code, "    Shipped {{ name: {name:?}, folder: {folder:?}, text: include_str!({path:?}) }},")?;
    }
    code.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("shipped.rs"), code)?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// Adds the TOML files under `folder` by their stems, which must differ.
fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "toml") {
            let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            if let Some(other) = files.insert(stem, path.clone()) {
                return Err(format!("two scenarios share a name: {} and {}", other.display(), path.display()).into());
            }
        }
    }
    Ok(())
}
