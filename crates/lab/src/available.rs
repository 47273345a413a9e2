//! How much memory is free for this process, where the system says so.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Octets that can be taken without swapping and without being stopped: what the machine has free, and what each
/// control group that the process is in leaves. `None` where the system does not say (it does on Linux).
pub(crate) fn available() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| free_of_machine(&text));
    machine.into_iter().chain(left_in_groups(&groups, Path::new("/sys/fs/cgroup"))).min()
}

fn free_of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What the groups of a process leave, of either version: `groups` is its `/proc/self/cgroup`.
fn left_in_groups(groups: &str, root: &Path) -> impl Iterator<Item = u64> {
    let group = |line: &str| -> Option<(PathBuf, String, [&'static str; 2])> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/').to_owned());
        match controllers {
            "" => Some((root.to_owned(), path, ["memory.max", "memory.current"])),
            "memory" => Some((root.join("memory"), path, ["memory.limit_in_bytes", "memory.usage_in_bytes"])),
            _ => None,
        }
    };
    let groups: Vec<_> = groups.lines().filter_map(group).collect();
    groups.into_iter().flat_map(|(root, path, files)| {
        let number = |file: PathBuf| read_to_string(file).ok()?.trim().parse::<u64>().ok();
        let left = move |group: &Path| {
            let [limit, used] = files.map(|file| number(group.join(file)));
            Some(limit?.saturating_sub(used?))
        };
        let lowest = root.join(path);
        let up = lowest.ancestors().take_while(|group| group.starts_with(&root));
        up.filter_map(left).collect::<Vec<u64>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says() {
        let text = "MemTotal:       24684308 kB\nMemFree:  1 kB\nMemAvailable:   12342154 kB\nSwapTotal: 0 kB\n";
        assert_eq!(free_of_machine(text), Some(12_342_154 * 1024));
        assert_eq!(free_of_machine("MemTotal: 5 kB\n"), None);
    }

    /// The group itself has no limit, the one above leaves 1000 - 400; in the other version 5000 - 4990.
    #[test]
    fn groups_say() {
        let root = std::env::temp_dir().join(format!("qcnlab-groups-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "7\n");
        write("a/memory.max", "1000\n");
        write("a/memory.current", "400\n");
        write("memory/c/memory.limit_in_bytes", "5000\n");
        write("memory/c/memory.usage_in_bytes", "4990\n");
        let left = |groups: &str| left_in_groups(groups, &root).collect::<Vec<u64>>();
        assert_eq!(left("0::/a/b\n"), [600]);
        assert_eq!(left("5:cpu:/x\n4:memory:/c\n0::/\n"), [10]);
        assert_eq!(left("0::/gone\n"), [0u64; 0]);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_some() {
        assert!(available().unwrap() > 1 << 20);
    }
}
