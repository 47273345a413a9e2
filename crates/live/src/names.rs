//! Names for the namespaces of a network that stands, where `ip netns` looks for them.
//!
//! A name is a file in `/run/netns` with the namespace mounted on it. Names outlive the process that gave them, so each
//! process lists its own in `/run/qcnlab`, and those of a dead process are taken back by the next.

use crate::error::LiveError;
use crate::sys::SysError;
use crate::sys::mounts::{mount_namespace, share, unmount};
use crate::sys::namespace::Namespace;
use std::fs;
use std::path::{Path, PathBuf};

/// Where `ip netns` looks.
const NAMES: &str = "/run/netns";
/// Which names are whose: a file for each process, named by its number.
const OWNERS: &str = "/run/qcnlab";

/// Names of namespaces; they are taken back when this goes.
#[derive(Debug)]
pub(crate) struct Names {
    all: Vec<PathBuf>,
    list: PathBuf,
}

fn failed<T>(what: &str, path: &Path, result: std::io::Result<T>) -> Result<T, LiveError> {
    result.map_err(|error| SysError::new(format!("{what} {}", path.display()), error).into())
}

impl Names {
    /// Names namespaces. Names of processes that are gone are taken back first.
    ///
    /// # Errors
    /// When a name is taken, or the system refuses. No name is given then.
    pub(crate) fn give<'a>(of: impl Iterator<Item = (&'a str, &'a Namespace)>) -> Result<Names, LiveError> {
        let (names, owners) = (Path::new(NAMES), Path::new(OWNERS));
        failed("make", names, fs::create_dir_all(names))?;
        failed("make", owners, fs::create_dir_all(owners))?;
        take_back_from_the_dead(owners);
        let all: Vec<(PathBuf, &Namespace)> = of.map(|(name, space)| (names.join(name), space)).collect();
        if let Some((taken, _)) = all.iter().find(|(path, _)| path.exists()) {
            let name = taken.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(LiveError::NameTaken { name });
        }
        // As `ip netns` does, so that names are seen in other mount namespaces.
        share(names)?;
        let list = owners.join(std::process::id().to_string());
        let lines: String = all.iter().map(|(path, _)| format!("{}\n", path.display())).collect();
        failed("write", &list, fs::write(&list, lines))?;
        let mut named = Names { all: Vec::new(), list };
        for (path, space) in all {
            failed("make", &path, fs::File::create_new(&path))?;
            named.all.push(path.clone());
            mount_namespace(space, &path)?;
        }
        Ok(named)
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.all.iter().for_each(|path| take_back(path));
        let _ = fs::remove_file(&self.list);
    }
}

fn take_back(path: &Path) {
    unmount(path);
    let _ = fs::remove_file(path);
}

/// Takes back the names that processes gave which are no more.
fn take_back_from_the_dead(owners: &Path) {
    let Ok(lists) = fs::read_dir(owners) else { return };
    for list in lists.flatten().map(|entry| entry.path()) {
        let owner = list.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if owner.parse::<u32>().is_err() || Path::new("/proc").join(&owner).exists() {
            continue;
        }
        let text = fs::read_to_string(&list).unwrap_or_default();
        // Only what lies where names lie, whatever the file says.
        text.lines().map(Path::new).filter(|path| path.parent() == Some(Path::new(NAMES))).for_each(take_back);
        let _ = fs::remove_file(&list);
    }
}
