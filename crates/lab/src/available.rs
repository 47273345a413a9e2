//! How much memory is free for this process, where the system says so.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Octets that can be taken without swapping and without being stopped: what the machine has free, what each control
/// group that the process is in leaves, and what its own limits (`ulimit -v`, `ulimit -d`) leave. `None` where the system does not say (it does on Linux).
pub(crate) fn available() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| free_of_machine(&text));
    let own = |file: &str| read_to_string(Path::new("/proc/self").join(file)).unwrap_or_default();
    let limits = left_by_limits(&own("limits"), &own("status"));
    machine.into_iter().chain(left_in_groups(&groups, Path::new("/sys/fs/cgroup"))).chain(limits).min()
}

/// What a process's limits of address space and of data leave: `limits` and `status` are its files in `/proc`.
fn left_by_limits(limits: &str, status: &str) -> impl Iterator<Item = u64> + use<> {
    let limit = |name: &str| {
        let soft = limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?;
        soft.parse::<u64>().ok()
    };
    let used = |name: &str| {
        let text = status.lines().find_map(|line| line.strip_prefix(name))?;
        text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let left = |limit: Option<u64>, used: Option<u64>| Some(limit?.saturating_sub(used?));
    let space = left(limit("Max address space"), used("VmSize:"));
    let data = left(limit("Max data size"), used("VmData:"));
    space.into_iter().chain(data)
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

    /// 8,000,000 octets of address space less 4,000 KiB, and 1,000,000 of data less 500 KiB.
    #[test]
    fn the_limits_of_the_process_say() {
        let limits = |space: &str, data: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max data size             {data}              unlimited            bytes     \n\
                 Max address space         {space}              unlimited            bytes     \n"
            )
        };
        let status = "Name:\tqcnlab\nVmPeak:\t   9000 kB\nVmSize:\t   4000 kB\nVmData:\t    500 kB\n";
        let left = |space: &str, data: &str| left_by_limits(&limits(space, data), status).collect::<Vec<u64>>();
        assert_eq!(left("8000000", "1000000"), [8_000_000 - 4_096_000, 1_000_000 - 512_000]);
        assert_eq!(left("unlimited", "1000000"), [488_000]);
        assert_eq!(left("1000", "unlimited"), [0]);
        assert_eq!(left_by_limits("", "").count(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_some() {
        assert!(available().unwrap() > 1 << 20);
    }
}
